"""The add-on service's calls: write an add-on's objects, wait until they are ready, delete them."""

from collections.abc import Mapping, Sequence
from functools import partial

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube
from events.kube.discovery import find
from schemas.addon import (
    AddonFailed,
    AddonHealthy,
    AddonRemoved,
    ApplyAddon,
    CheckAddon,
    WithdrawAddon,
    full_name,
    profile_of,
)
from schemas.crds.addons import DependencySpec, Mode
from services.addons.charts import apply_chart, compare_chart, wanted_release
from services.addons.contents import AddonContent, ChartRelease, RenderedObjects
from services.addons.descriptions import (
    AddonCommand,
    Description,
    UnreadableDescription,
    inline,
    inline_objects,
)
from services.addons.dry_run import dry_run_chart, dry_run_objects, dry_run_withdrawal
from services.addons.helm.releases import HelmRelease, ReleaseRef
from services.addons.object_checks import check_objects
from services.addons.objects.apply import ApplyResult, apply
from services.addons.objects.compare import Compared, compare, compare_existing
from services.addons.objects.faults import AGAIN, HeldBack, MissingPrerequisite, NotReady
from services.addons.objects.ignoring import Ignore
from services.addons.objects.in_parallel import in_parallel
from services.addons.objects.in_use import in_use
from services.addons.objects.target import Target
from services.addons.objects.watch import Watched, watched
from services.addons.owned_objects import OwnedObject, owned_object, owner_label
from services.addons.ports import AddonPorts
from services.addons.readiness_rules import read_all, rehearse, unmet
from services.addons.recheck import Look, Rechecks
from services.addons.record import delete_record, read_record, read_records
from services.addons.releases import split_release
from services.addons.waiting import GATED, gated, lacks, waits_to_go
from services.addons.withdraw import Withdrawal
from services.clients.workload_clusters import NoKubeconfigYet, WorkloadClusters
from services.runtime.loop import Act, acts
from services.runtime.machine import Event


class AddonCalls:
    """Executes each command."""

    def __init__(self, ports: AddonPorts) -> None:
        self._ports = ports

    async def apply(self, command: ApplyAddon) -> tuple[Event, ...]:
        """Write the add-on's objects. Raises TryLater until they are ready, unless there is something to report."""
        if waits := self._ports.gates.before_apply(command):
            return gated(command, waits)
        lacking = "" if command.gated else command.told
        try:
            description = await self._described(command)
            kube = await _open(self._ports.workloads, command)
            checks = description.spec.pre_deploy_checks
            await check_objects(self._ports.evaluators, kube, checks, command.addon, command.tenant)
            await self._check_edges(command, description, kube)
            content = await self._content(command, description, kube)
            await self._check_mode(command, description, content, kube)
            cluster = (command.tenant, command.cluster)
            with self._ports.watches.writing(cluster, command.addon):
                applied = await self._written(command, description, content, kube)
            objects = [watched(each.resource, each.object) for each in applied.objects]
            released = isinstance(content, ChartRelease)
            self._ports.watches.follow(cluster, kube, command.addon, objects, helm=released)
            lacking = ""
            _check_healthy(applied)
            _check_all_gone(command.addon, applied.reasons)
            await self._check_rules(command, description, applied, kube)
        except HeldBack as held:
            return gated(command, held.message)
        except (Denied, NotFound, UnreadableDescription) as refused:
            return (AddonFailed(command.digest, refused.message),)
        except TryLater as later:
            return lacks(command, later, lacking)
        return (AddonHealthy(command.digest, content.digest),)

    async def _described(self, command: ApplyAddon) -> Description:
        """The description that the command is about. Raises TryLater while another one is there."""
        description = await self._ports.descriptions.find(command)
        if description.digest != command.digest:
            raise TryLater(f"the description of {command.addon} has changed since", AGAIN)
        if description.suspended:
            raise MissingPrerequisite("its profile is suspended", GATED)
        return description

    async def _check_edges(self, command: ApplyAddon, description: Description, kube: Kube) -> None:
        """Raises HeldBack while a dependency is applied, but not as ready as this add-on needs it."""
        for place, each in enumerate(description.spec.depends_on):
            if each.ready is None:
                continue
            name = _dependency(command.addon, each)
            seen = await read_all(kube, (await read_record(kube, name)).has)
            where = f"{command.addon}.dependsOn[{place}].ready"
            if why := await unmet(self._ports.evaluators, [each.ready], where, seen, command.tenant):
                raise HeldBack(f"waits for {name}: {why}", GATED)

    async def _content(self, command: AddonCommand, description: Description, kube: Kube) -> AddonContent:
        cluster = self._ports.cluster((command.tenant, command.cluster))
        if cluster is None and description.spec.templated:
            raise TryLater(f"the cluster {command.cluster} is not known yet", AGAIN)
        return await self._ports.contents.of(description, cluster, kube)

    async def _written(
        self, command: ApplyAddon, description: Description, content: AddonContent, kube: Kube
    ) -> ApplyResult:
        target = _target(command, description, kube)
        if isinstance(content, RenderedObjects):
            return await apply(target, content.documents, partial(self._staying, command, kube))
        return await apply_chart(self._ports.helm, target, await self._release(command, description, content))

    async def _check_mode(
        self, command: ApplyAddon, description: Description, content: AddonContent, kube: Kube
    ) -> None:
        """Raises HeldBack for a dry run, with what an apply would change."""
        if description.spec.mode is not Mode.DRY_RUN:
            return
        target = _target(command, description, kube)
        if command.addon in self._ports.unmatched((command.tenant, command.cluster)):
            found = await dry_run_withdrawal(target)
        elif isinstance(content, RenderedObjects):
            found = await dry_run_objects(target, content.documents)
        else:
            release = await self._release(command, description, content)
            found = await dry_run_chart(self._ports.helm, target, release)
        raise HeldBack(f"dry run: {found}", GATED)

    async def _release(
        self, command: ApplyAddon | CheckAddon, description: Description, content: ChartRelease
    ) -> HelmRelease:
        kubeconfig = await self._ports.workloads.kubeconfig(command.tenant, command.kubeconfig)
        return wanted_release(content, kubeconfig, description.user)

    async def _check_rules(
        self, command: ApplyAddon, description: Description, applied: ApplyResult, kube: Kube
    ) -> None:
        """Raises NotReady while a rule of its own does not hold, TryLater while a canary is refused."""
        seen = [each.object for each in applied.objects]
        rules = description.spec.ready
        if why := await unmet(self._ports.evaluators, rules, f"{command.addon}.ready", seen, command.tenant):
            raise NotReady(why, AGAIN)
        for canary in description.canaries:
            await rehearse(kube, canary)

    async def _staying(self, command: ApplyAddon | WithdrawAddon, kube: Kube) -> Mapping[str, tuple[OwnedObject, ...]]:
        """The objects of every other add-on that stays: as its Colony says, and as the cluster's records have it."""
        asked = dict(await self._ports.descriptions.of_colony(command))
        asked.pop(command.addon, None)
        names = {*asked, *self._ports.gates.wanted(command)} - {command.addon}
        labels = {owner_label(name) for name in names}
        kept = {name: record.has for name, record in (await read_records(kube)).items() if name in labels}
        return kept | dict(inline(asked))

    async def follow(self, command: CheckAddon) -> None:
        """Watch what the add-on has, as after a restart. Raises Fault."""
        cluster = (command.tenant, command.cluster)
        if self._ports.watches.follows(cluster, command.addon):
            return
        kube = await self._ports.workloads.open(command.tenant, command.kubeconfig)
        record = await read_record(kube, command.addon)
        found = [each for each in await in_parallel(partial(_watched, kube), record.has) if each is not None]
        self._ports.watches.follow(cluster, kube, command.addon, found, helm=bool(record.release))

    async def look(self, command: CheckAddon, *, thorough: bool) -> Look | None:
        """Compare the add-on with its cluster; None if another description is there by now. Raises Fault."""
        description = await self._ports.descriptions.find(command)
        if description.digest != command.digest or description.suspended:
            return None
        kube = await self._ports.workloads.open(command.tenant, command.kubeconfig)
        target, mode = _target(command, description, kube), description.spec.mode
        if mode is Mode.ONCE:
            return Look(mode, await compare_existing(target))
        content = await self._content(command, description, kube)
        if command.content and content.digest != command.content:
            return Look(mode, Compared(), outdated=True)
        if mode is Mode.CONTINUOUS:
            return Look(mode, await compare_existing(target))
        if isinstance(content, RenderedObjects):
            return Look(mode, await compare(target, content.documents))
        release = await self._release(command, description, content)
        found = await compare_chart(self._ports.helm, target, release, thorough=thorough)
        return Look(mode, found or Compared(), outdated=found is None)

    async def withdraw(self, command: WithdrawAddon) -> tuple[Event, ...]:
        """Delete the add-on's objects, the last first. Raises TryLater as long as any is being deleted."""
        if waits := self._ports.gates.before_withdrawal(command):
            return waits_to_go(command, waits)
        try:
            kube = await self._ports.workloads.open(command.tenant, command.kubeconfig)
            record = await read_record(kube, command.addon)
            had = record.has or await self._described_objects(command)
        except (NotFound, UnreadableDescription):  # no cluster, no Colony or no such add-on: nothing to be taken away
            return (AddonRemoved(),)
        if command.dropped and not command.leave and (waits := await in_use(kube, record.keep_while)):
            return waits_to_go(command, waits)
        if record.release:
            return await self._uninstall(command, kube, record.release)
        stay = await self._staying(command, kube) if command.dropped else {}
        off = Withdrawal(kube, command.addon, command.stays, stay, await read_records(kube))
        reasons = await (off.leave_all(had) if command.leave else off.delete_all(had))
        _check_all_gone(command.addon, reasons)
        await delete_record(kube, command.addon)
        return (AddonRemoved("; ".join(reasons)),)

    async def _uninstall(self, command: WithdrawAddon, kube: Kube, release: str) -> tuple[Event, ...]:
        """Uninstall the release, unless it is to be left. What Helm keeps by annotation stays."""
        namespace, name = split_release(release)
        if not command.leave:
            kubeconfig = await self._ports.workloads.kubeconfig(command.tenant, command.kubeconfig)
            await self._ports.helm.uninstall(kube, ReleaseRef(kubeconfig=kubeconfig, release=name, namespace=namespace))
        await delete_record(kube, command.addon)
        return (AddonRemoved(f"the release {release} is left as it is" if command.leave else ""),)

    async def _described_objects(self, command: WithdrawAddon) -> tuple[OwnedObject, ...]:
        """The objects according to the Colony, for add-ons applied before records existed. Raises NotFound."""
        spec = (await self._ports.descriptions.find(command)).spec
        if spec.manifests is None or spec.templated:
            return ()
        return tuple(map(owned_object, inline_objects(spec.name, spec.manifests)))


def act(calls: AddonCalls, checks: Rechecks) -> Act:
    """The add-on service's side effects, by command."""
    return acts({ApplyAddon: calls.apply, WithdrawAddon: calls.withdraw, **checks.commands})


async def _watched(kube: Kube, one: OwnedObject) -> Watched | None:
    """None if its kind is not served."""
    try:
        resource = await find(kube, one.api_version, one.kind)
    except NotFound:
        return None
    return Watched(resource, one.namespace if resource.namespaced else "", one.name)


def _target(command: ApplyAddon | CheckAddon, description: Description, kube: Kube) -> Target:
    spec = description.spec
    return Target(
        _as_user(kube, description.user),
        kube,
        command.addon,
        priority=description.priority,
        namespace=spec.namespace or "default",
        ignore=tuple(Ignore(tuple(each.paths), each.kind or "", each.name or "") for each in spec.ignore),
        recreate=spec.recreate,
        keep_while=tuple((each.api_version, each.kind) for each in spec.keep_while),
        deletion_limit=100 if description.approved == command.digest else spec.deletion_limit,
    )


def _as_user(kube: Kube, user: str) -> Kube:
    """The same API server in the name of a user, if one is given."""
    return kube.impersonating(user) if user else kube


def _dependency(addon: str, each: DependencySpec) -> str:
    return full_name(each.name, profile_of(addon) if each.profile is None else each.profile)


async def _open(workloads: WorkloadClusters, command: ApplyAddon) -> Kube:
    try:
        return await workloads.open(command.tenant, command.kubeconfig)
    except (NotFound, NoKubeconfigYet) as missing:
        raise MissingPrerequisite(missing.message, AGAIN) from missing


def _check_all_gone(addon: str, reasons: Sequence[str]) -> None:
    """Raises TryLater while any object is being deleted."""
    if going := reasons.count(""):
        raise TryLater(f"{going} objects of {addon} are going", AGAIN)


def _check_healthy(applied: ApplyResult) -> None:
    """Raises NotReady while any object is not healthy, Denied if one never will be."""
    for each in sorted(applied.unhealthy, key=lambda one: not one.failed):
        raise Denied(each.message, "Failed") if each.failed else NotReady(f"waits for {each.message}", AGAIN)
