"""What is true of a cluster next."""

from schemas.cluster import (
    LIFECYCLE,
    Hibernated,
    Launching,
    Placing,
    Provisioned,
    Ready,
    Released,
    Releasing,
    Requested,
    Stalled,
    Waiting,
)
from schemas.entity import Due
from schemas.founding import Gone, Held, LaunchFailed, MadeLate, MarketMoved, NotRecalled, Recalled
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Ranked
from schemas.resize import Bought, NotBought, Resized, ResizeRefused
from schemas.teardown import Releasing as ReleaseOrdered
from schemas.upgrade import Rolling, Upgraded, UpgradeRefused
from schemas.wish import Wish
from services.provisioning.lifecycle.autoscale import ring
from services.provisioning.lifecycle.change import (
    add,
    do_without,
    extend,
    follow,
    give_in,
    rest,
    stay_awake,
    wake,
    wake_larger,
)
from services.provisioning.lifecycle.launch import (
    choose,
    complete,
    fall_back,
    fall_short,
    give_up,
    lose,
    recount,
    recover,
    rise,
)
from services.provisioning.lifecycle.lost_history import disown, request, take_in
from services.provisioning.lifecycle.release import (
    drop,
    drop_request,
    find,
    finish,
    finish_seen,
    forget,
    hold,
    keep,
    let_go,
    let_go_place,
    try_next,
    try_next_seen,
)
from services.provisioning.lifecycle.request import (
    ask_again,
    ask_soon,
    let_ask_again,
    reconsider,
    request_again,
    try_again,
)
from services.provisioning.lifecycle.resize import amend, confirm, run_over, take_back
from services.provisioning.lifecycle.upgrade import advance, arrive, stay
from services.runtime.machine import machine, on

EVERY = (Requested, Placing, Launching, Provisioned, Ready, Hibernated, Waiting, Stalled, Releasing, Released)

decide = machine(
    LIFECYCLE,
    on(type(None), Wish, request),
    on(Released, Wish, request_again),
    on((Requested, Placing), Wish, reconsider),
    on(Releasing, Wish, let_ask_again),
    on((Stalled, Waiting), Wish, try_again),
    on(Launching, Wish, amend),
    on((Provisioned, Ready), Wish, follow),
    on(Hibernated, Wish, wake),
    on(Requested, Recalled, take_in),
    on(Requested, NotRecalled, disown),
    on((Requested, Placing), Ranked, choose),
    on(Stalled, Ranked, recover),
    on(Waiting, Due, ask_again),
    on(Waiting, MarketMoved, ask_soon),
    on(Launching, LaunchFailed, fall_back),
    on(Launching, InfraSeen, rise),
    on((Launching, Provisioned), Due, give_up),
    on(Provisioned, InfraSeen, fall_short),
    on((Ready, Hibernated), InfraSeen, lose),
    on(Provisioned, ClusterSeen, complete),
    on(Ready, ClusterSeen, recount),
    on(Hibernated, ClusterSeen, rest),
    on(Ready, Due, ring),
    on(Hibernated, Due, run_over),
    on((Launching, Provisioned, Ready, Hibernated), Resized, confirm),
    on(Launching, Bought, add),
    on((Provisioned, Ready), Bought, extend),
    on(Hibernated, Bought, wake_larger),
    on((Launching, Provisioned, Ready, Hibernated), NotBought, do_without),
    on(Launching, ResizeRefused, take_back),
    on((Provisioned, Ready), ResizeRefused, give_in),
    on(Hibernated, ResizeRefused, stay_awake),
    on((Provisioned, Ready, Hibernated), Rolling, advance),
    on((Provisioned, Ready, Hibernated), Upgraded, arrive),
    on((Provisioned, Ready, Hibernated), UpgradeRefused, stay),
    on((Launching, Provisioned, Ready, Hibernated), ReleaseOrdered, let_go),
    on(Placing, ReleaseOrdered, let_go_place),
    on(Requested, ReleaseOrdered, drop_request),
    on((Waiting, Stalled), ReleaseOrdered, drop),
    on(EVERY, MadeLate, keep),
    on((Requested, Launching, Provisioned, Ready, Hibernated, Waiting, Stalled, Released), Gone, forget),
    on(Placing, Gone, try_next),
    on(Placing, InfraSeen, try_next_seen),
    on((Launching, Placing, Releasing), Held, hold),
    on(Releasing, Gone, finish),
    on(Releasing, InfraSeen, finish_seen),
    on((Requested, Waiting, Stalled, Released), InfraSeen, find),
)
