"""The country of a cloud's region, so that data can stay in its jurisdiction; an unknown region is in none."""

from functools import cache

from schemas.inventory import Offer

EU = frozenset(
    "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split()  # noqa: SIM905 - a table
)
"""The member states (europa.eu, "EU countries"); ISO 3166-1 alpha-2 codes, as everywhere here."""
JURISDICTIONS = {"EU": EU, "EEA": EU | {"IS", "LI", "NO"}}
"""Names for several countries; any other name is one country's code."""

AWS = """
US us-east-1 us-east-2 us-west-1 us-west-2 us-gov-east-1 us-gov-west-1
CA ca-central-1 ca-west-1
MX mx-central-1
BR sa-east-1
IE eu-west-1
GB eu-west-2
FR eu-west-3
DE eu-central-1
CH eu-central-2
SE eu-north-1
IT eu-south-1
ES eu-south-2
IN ap-south-1 ap-south-2
SG ap-southeast-1
AU ap-southeast-2 ap-southeast-4
ID ap-southeast-3
MY ap-southeast-5
NZ ap-southeast-6
TH ap-southeast-7
TW ap-east-2
HK ap-east-1
JP ap-northeast-1 ap-northeast-3
KR ap-northeast-2
IL il-central-1
BH me-south-1
AE me-central-1
ZA af-south-1
"""
"""Source: AWS documentation, "AWS Regions"."""
AZURE = """
US eastus eastus2 centralus northcentralus southcentralus westcentralus westus westus2 westus3
CA canadacentral canadaeast
MX mexicocentral
BR brazilsouth brazilsoutheast
CL chilecentral
IE northeurope
NL westeurope
GB uksouth ukwest
FR francecentral francesouth
DE germanywestcentral germanynorth
CH switzerlandnorth switzerlandwest
NO norwayeast norwaywest
SE swedencentral swedensouth
PL polandcentral
IT italynorth
ES spaincentral
AT austriaeast
BE belgiumcentral
IN centralindia southindia westindia
SG southeastasia
HK eastasia
AU australiaeast australiasoutheast australiacentral australiacentral2
NZ newzealandnorth
JP japaneast japanwest
KR koreacentral koreasouth
ID indonesiacentral
MY malaysiawest
IL israelcentral
QA qatarcentral
AE uaenorth uaecentral
ZA southafricanorth southafricawest
"""
"""Source: Azure documentation, "List of Azure regions"."""
GCP = """
US us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4
CA northamerica-northeast1 northamerica-northeast2
MX northamerica-south1
BR southamerica-east1
CL southamerica-west1
BE europe-west1
GB europe-west2
DE europe-west3 europe-west10
NL europe-west4
CH europe-west6
IT europe-west8 europe-west12
FR europe-west9
ES europe-southwest1
FI europe-north1
SE europe-north2
PL europe-central2
IN asia-south1 asia-south2
TW asia-east1
HK asia-east2
JP asia-northeast1 asia-northeast2
KR asia-northeast3
SG asia-southeast1
ID asia-southeast2
TH asia-southeast3
AU australia-southeast1 australia-southeast2
IL me-west1
QA me-central1
SA me-central2
ZA africa-south1
"""
"""Source: Google Cloud documentation, "Regions and zones"."""
LAMBDA = """
US us-east-1 us-east-2 us-east-3 us-midwest-1 us-midwest-2 us-south-1 us-south-2 us-south-3
US us-west-1 us-west-2 us-west-3
DE europe-central-1
IL me-west-1
IN asia-south-1
JP asia-northeast-1 asia-northeast-2
AU australia-east-1
"""
"""Source: Lambda's cloud API documentation, the names of its regions."""
NEBIUS = """
FI eu-north1
FR eu-west1
IS eu-west2
IL me-west1
GB uk-south1
US us-central1
"""
"""Source: Nebius AI Cloud documentation, "Regions"."""
COUNTRIES = {
    (cloud, region): line.split()[0]
    for cloud, table in (("aws", AWS), ("azure", AZURE), ("gcp", GCP), ("lambda", LAMBDA), ("nebius", NEBIUS))
    for line in table.strip().splitlines()
    for region in line.split()[1:]
}


def country(offer: Offer) -> str:
    """The country of a machine; empty if it is unknown."""
    return offer.country or _country(offer.cloud, offer.region)


@cache
def _country(cloud: str, region: str) -> str:
    if cloud == "runpod":  # its regions are countries
        return region if len(region) == 2 else ""
    if cloud == "vast":  # "State, CC, continent"; some have no state
        parts = [part.strip() for part in region.split(",")]
        return next((part for part in parts[-2:-1] if len(part) == 2), "")
    return COUNTRIES.get((cloud, region), "")


def within(offer: Offer, residency: tuple[str, ...]) -> bool:
    """Whether a machine is in one of the countries or jurisdictions; an unknown country is in none."""
    there = country(offer)
    return bool(there) and any(there in JURISDICTIONS.get(name, (name,)) for name in residency)
