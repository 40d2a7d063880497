// Parts: what a runtime is made of, made and wired to each other.
//   PT1. Nothing runs or is asked here: the parts call each other only once the runtime has started.
//   PT2. A part that is needed by one made before it is reached through a function.

import { hostname } from "node:os";
import type { RegisteredWork } from "../core/claimable.ts";
import { Committer, type Lease } from "../core/committer.ts";
import { guardsOf, type GuardName } from "../core/guard-names.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { Peek } from "../core/provider/runtimes.ts";
import { TimerWheel } from "../core/timer-wheel.ts";
import { REPLAY_VERSIONS } from "../core/targets.ts";
import { Adoption } from "./adoption.ts";
import { Entries } from "./entries.ts";
import { unguarded } from "./guarded-run.ts";
import { BeginWindow } from "./begin-window.ts";
import { Housekeeping } from "./housekeeping.ts";
import { Instances } from "./instances.ts";
import { Liveness } from "./liveness.ts";
import { LeaseCheck } from "./lease-check.ts";
import { LostWork } from "./lost-work.ts";
import { LoopSlice } from "./loop-slice.ts";
import { resolveOptions, type ResolvedOptions } from "./options.ts";
import { ownIdentity } from "./process-identity.ts";
import { Pump } from "./pump.ts";
import { Registry } from "./registry.ts";
import { Renewal } from "./renewal.ts";
import { SafetyNet } from "./safety-net.ts";
import { Sessions } from "./sessions.ts";
import { RuntimeStats } from "./stats.ts";
import { StoreTrouble } from "./store-trouble.ts";
import type { RuntimeStart, RuntimeWiring } from "./wiring.ts";
import { SuspectSlot } from "./suspect-slot.ts";
import { WorkIntake } from "./work-intake.ts";
import { Work } from "./work.ts";

export interface Parts {
  readonly runtimeId: string;
  readonly options: ResolvedOptions;
  readonly guards: ReadonlySet<GuardName>;
  readonly registry: Registry;
  readonly committer: Committer;
  readonly wheel: TimerWheel;
  readonly pump: Pump;
  readonly work: Work;
  readonly instances: Instances;
  readonly liveness: Liveness;
  readonly lostWork: LostWork;
  readonly adoption: Adoption;
  readonly housekeeping: Housekeeping;
  readonly intake: WorkIntake;
  readonly net: SafetyNet;
  readonly stats: RuntimeStats;
  readonly trouble: (error: unknown) => void;
}

export function assemble(
  provider: Provider,
  { register, ...given }: RuntimeStart,
  wiring: RuntimeWiring,
  isRunning: () => boolean,
): Parts {
  const committer = Committer.of(provider);
  const { environment } = provider;
  const isDevelopment = process.env["NODE_ENV"] !== "production";
  const options = resolveOptions(given, isDevelopment);
  const registry = new Registry(register, options);
  const guards = guardsOf(options.guards, isDevelopment);
  const runtimeId = environment.randomHex(8);
  const stats = new RuntimeStats();
  const { codec, log, limits, tags } = options;
  const monotonic = (): number => environment.monotonic();
  const storeNow = (): number => provider.now();
  const newToken = (): number => Math.floor(environment.random() * Number.MAX_SAFE_INTEGER);
  const entering = (label: string): void => liveness.heart?.entering(label);
  const wheel = new TimerWheel({
    now: monotonic,
    setTimer: (delayMs, fn) => environment.setTimer(delayMs, fn),
  });
  const slice = new LoopSlice(environment);
  const entries = new Entries(environment, slice);
  const pump = new Pump({ environment, slice, onIdle: () => committer.flush(), entering });
  const storeTrouble = new StoreTrouble({ environment, log, stats });
  const trouble = (error: unknown): void => {
    storeTrouble.tell(error);
    leaseCheck.alert(); // calls after which the store may have lost commits fail first
  };
  const sessions: Sessions = new Sessions({
    runtimeId,
    provider,
    options,
    wheel,
    monotonic,
    trouble,
    activities: () => work.activities,
  });
  const suspects: SuspectSlot = new SuspectSlot({
    monotonic,
    random: () => environment.random(),
    onFree: (asking) => intake.wakeFor(asking),
  });
  const window: BeginWindow = new BeginWindow({
    size: options.leaseBatch,
    registry,
    monotonic,
    onOpen: () => intake.wakeFor("instances"),
    onFull: (opensInMs) => intake.wakeInstancesIn(opensInMs),
  });
  const work: Work = new Work({
    runtimeId,
    provider,
    committer,
    options,
    registry,
    wheel,
    sessions,
    suspects,
    wiring,
    stats,
    entering,
    wasSuspended: (ms) => liveness.heart?.wasSuspended?.(ms) ?? false,
    entries,
    instances: () => instances,
    intake: () => intake,
    trouble,
  });
  const { activities, steps } = work;
  const intake: WorkIntake = new WorkIntake({
    runtimeId,
    provider,
    options,
    registry,
    wheel,
    sessions,
    suspects,
    window,
    instances: () => instances,
    activities: () => activities,
    isRunning,
    newToken,
    avoidMs: () => housekeeping.avoidMs,
    trouble,
  });
  const instances: Instances = new Instances({
    runtimeId,
    environment,
    options,
    registry,
    committer,
    pump,
    entries,
    activities,
    steps,
    suspects,
    window,
    stats,
    storeNow,
    readHistory: (address) => provider.readHistory(address),
    runOptions: {
      codec: unguarded(codec),
      limits,
      guards,
      readKeyValue: async (id, key) => (await provider.readKeyValue(id, key))?.value,
    },
    mayLeaseAtBirth: () => !intake.tasksWait,
    isExpected: (token) => adoption.isExpected(token),
    onTimer: (delayMs) => intake.wakeInstancesIn(delayMs),
    onQueued: () => intake.queued(),
    onFree: () => intake.turnFree(),
    onCalled: (key) => intake.called(key),
    onContinued: (id) => housekeeping.continued(id),
    onUnknown: (kind) => housekeeping.unknown(kind),
    onRefused: () => leaseCheck.alert(),
  });
  const renewal = new Renewal({ provider, options, instances, activities });
  const lostWork = new LostWork({
    provider,
    runtimeId,
    instances,
    activities,
    trouble,
    onLost: () => leaseCheck.alert(),
  });
  const leaseCheck: LeaseCheck = new LeaseCheck({
    runtimeId,
    provider,
    committer,
    environment,
    instances,
    activities,
    isExpected: (token) => adoption.isExpected(token) || intake.isExpected(token),
    isRunning,
    stats,
    log,
    onReleased: () => intake.wake(),
  });
  const adoption: Adoption = new Adoption({
    registry,
    room: () => (isRunning() && !instances.holding.isTrying ? roomOf(instances, options) : 0),
    isHeldBack: (name, priority) => window.isFull(name, priority),
    newLease: () => leaseOf({ owner: runtimeId, token: newToken() }, options),
    take: (instance) => instances.take(instance),
    storeNow,
    onDelayed: (delayMs) => intake.wakeInstancesIn(delayMs),
    onUnknown: (kind) => housekeeping.unknown(kind),
  });
  const registered: RegisteredWork = {
    ...registry.list(),
    tags,
    replayVersions: REPLAY_VERSIONS,
  };
  const housekeeping: Housekeeping = new Housekeeping({
    runtimeId,
    provider,
    committer,
    options,
    work: registered,
    newToken,
    trouble,
  });
  const liveness: Liveness = new Liveness({
    provider,
    environment,
    registration: {
      id: runtimeId,
      nodeId: options.workerNodeId ?? `${hostname()}:${process.pid}`,
      process: ownIdentity(),
      hostname: hostname(),
    },
    registered: { ...registered, flows: registry.flows },
    beatMs: options.beatMs,
    staleMs: options.staleMs,
    stallMs: options.stallMs,
    log,
    onFreed: () => intake.wake(),
    onLost: () => {
      for (const task of activities.claims) activities.lose(task);
      instances.holding.dropAll();
      intake.wake();
    },
  });
  const net = new SafetyNet({
    environment,
    options,
    renewal,
    isRunning,
    beat: () => liveness.beat(),
    peek: () => provider.peek({ owner: runtimeId }),
    tidy: async (now) => {
      instances.holding.sweep();
      steps.tick();
      housekeeping.tick(now);
      await sessions.tick(now);
    },
    found: async (peek: Peek) => {
      storeTrouble.answered();
      storeTrouble.clockSetBack(peek.clockSetBackMs ?? 0);
      leaseCheck.serverIs(peek.server);
      if (peek.instances || peek.tasks) intake.wake();
      await lostWork.checkTasks();
      await liveness.reap(peek.runtimes);
      await housekeeping.found(peek);
      await leaseCheck.tick();
    },
    trouble,
  });
  return {
    runtimeId,
    options,
    guards,
    registry,
    committer,
    wheel,
    pump,
    work,
    instances,
    liveness,
    lostWork,
    adoption,
    housekeeping,
    intake,
    net,
    stats,
    trouble,
  };
}

/** How many more instances may begin a turn. */
function roomOf({ holding }: Instances, options: ResolvedOptions): number {
  return options.stickyCacheMax === 0 ? 0 : options.turnConcurrency - holding.busy;
}

function leaseOf(lease: Lease, { instanceLeaseMs }: ResolvedOptions): Lease {
  return instanceLeaseMs === undefined ? lease : { ...lease, leaseMs: instanceLeaseMs };
}
