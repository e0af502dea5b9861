"""Where the sandbox may answer otherwise than the real server: the one table, each row with its reason."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Allowed:
    """One difference: in which conversations, at which place of the answers, and why it is right to leave it."""

    why: str
    place: str
    """A pattern for ``<step>.<path in the answer>``."""
    fact: str = ""
    """A pattern for the conversation; empty: in any."""

    def covers(self, fact: str, place: str) -> bool:
        return re.search(self.fact, fact) is not None and re.search(self.place, place) is not None


ALLOWED: tuple[Allowed, ...] = (
    # -- words ---------------------------------------------------------------------------------------------------
    Allowed("Go's own words for a type it cannot decode or convert", r"body\.message$", "another kind is refused"),
    Allowed("Go's own words for JSON it cannot read", r"body\.message$", "no JSON is refused|no object is refused"),
    Allowed("Go's own words for a type it cannot decode", r"body\.message$", "of a wrong type is refused"),
    Allowed(
        "the real server names one or all of the undeclared fields, by the order of a Go map",
        r"^1\.body\.message$",
        "an undeclared field cannot be applied to what is there",
    ),
    Allowed("Go prints its own value in the message", r"body\.message$", "wrong type cannot be typed"),
    Allowed("the selector's parser speaks of its tokens", r"body\.message$", "selector that cannot be read"),
    Allowed("a continue token is each server's own secret", r"body\.message$", "continue that is nonsense"),
    Allowed("the fields are named, in words of the kind's own", r"body\.message$", "an unknown field cannot select"),
    Allowed("names a key in etcd, which the sandbox has none of", r"body\.message$", "under another uid is a conflict"),
    Allowed(
        "columns are described by Kubernetes' documentation, which kubectl never prints",
        r"columnDefinitions\[\d+\]\.description$",
    ),
    Allowed(
        "the path within a status is told from the status there, from the object here: both name the field",
        r"(causes\[\d\]|body)\.message$",
        "an invalid status is refused",
    ),
    # -- refusals ------------------------------------------------------------------------------------------------
    Allowed("a refusal all the same: 500 is the real server's slip", r"", "watch's version that is no number"),
    Allowed("the sandbox has no anonymous user: who shows no token is refused at once", r"", "nobody may read"),
    Allowed("built-in kinds are not held against rules of their own", r"", "deployment without a selector"),
    Allowed(
        "the library behind the real server adds a second cause without a field",
        r"body\.(details\.causes|message)$",
        "a broken number for a whole one",
    ),
    Allowed("a warning beside a refusal", r"warnings$", "an object for a list"),
    # -- what the sandbox does not keep or run -------------------------------------------------------------------
    Allowed(
        "the sandbox keeps no old versions: later pages show what is there now",
        r"^7\.body",
        "later pages show the version of the first",
    ),
    Allowed(
        "a continue that goes on at another version is offered there; here the client lists again",
        r"^5\.body\.(message|metadata)",
        "a page whose version was forgotten",
    ),
    Allowed(
        "without a watch cache (so it is for this kind in the test) the real server says it in other words",
        r"events\[0\]\.object\.message$",
        "a watch from a forgotten version",
    ),
    Allowed(
        "a watch of tables says its columns with the first event there, with every one here: written once for all",
        r"events\[[1-9]\]\.object\.columnDefinitions$",
        "a watch shows tables",
    ),
    Allowed(
        "the real server keeps no time of a write by way of /scale",
        r"^3\.body\.metadata\.managedFields\[\d\]\.time$",
        "scale shows and sets replicas",
    ),
    Allowed(
        "the sandbox has no network: nothing gives a Service addresses",
        r"spec\.(clusterIPs|ipFamilies|ipFamilyPolicy)|f:(clusterIPs|ipFamilies|ipFamilyPolicy)",
    ),
    Allowed(
        "Go writes two times of a pod's condition although they have no value",
        r"last(Probe|Transition)Time$",
        "a pod's",
    ),
    Allowed("subresources that need a kubelet are not there", r"\.subresources", "core discovery"),
    Allowed("the index is labelled as text there", r"media$", "openapi has an index"),
    Allowed("published schemas spell int-or-string out there", r"port\.anyOf$", "openapi shows a custom kind"),
)
