// The context of a runtime: its resources and its parts. Every part gets this object and calls the other
// parts through it.
//   - Nothing runs and no request is sent while the parts are created. The parts call each other only
//     after the runtime has started.
//   - The constructor of a part may read resources, and only those parts that are listed above it.
//   - Three loops drive the parts: `instances`, `attempts` and `upkeep`. lifecycle.ts starts and stops them.

import { Attempts } from "./attempts/attempts.ts";
import { Entries } from "./attempts/entries.ts";
import { Queues } from "./attempts/queues.ts";
import { Sessions } from "./attempts/sessions.ts";
import { Liveness } from "./health/liveness.ts";
import { StoreOutage } from "./health/store-outage.ts";
import { BeginWindow } from "./instances/begin-window.ts";
import { Blocker } from "./instances/blocker.ts";
import { FirstTurns } from "./instances/first-turns.ts";
import { HeldInstances } from "./instances/held-instances.ts";
import { Instances } from "./instances/instances.ts";
import { Intake } from "./instances/intake.ts";
import { LeaseCheck } from "./instances/lease-check.ts";
import { LocalJobs } from "./instances/local-jobs.ts";
import { LocalStarts } from "./instances/local-starts.ts";
import { LostLeases } from "./instances/lost-leases.ts";
import { PastBlocks } from "./instances/past-blocks.ts";
import { SuspectSlot } from "./instances/suspect-slot.ts";
import { Pump } from "./replay/pump.ts";
import { LocalCode } from "./replay/registered-code.ts";
import { Shadowing } from "./replay/shadowing.ts";
import { TurnResults } from "./replay/turn-results.ts";
import { RuntimeResources } from "./resources.ts";
import { KeptExpiry } from "./upkeep/kept-expiry.ts";
import { LimitWatch } from "./upkeep/limit-watch.ts";
import { RetentionSweeper } from "./upkeep/retention.ts";
import { Unclaimed } from "./upkeep/unclaimed.ts";
import { Upkeep } from "./upkeep/upkeep.ts";

export class RuntimeContext extends RuntimeResources {
  /** A call to the store failed and is retried. */
  readonly onStoreError = (error: unknown): void => {
    this.storeOutage.reportError(error);
    this.leaseCheck.alert(); // a store that lost commits usually fails some calls first
  };

  /** Reports what is about to occupy the event loop; empty: no user code runs. */
  readonly entering = (label: string): void => this.liveness.thread?.entering(label);

  // Shared by the loops.
  readonly pump = new Pump({
    environment: this.environment,
    slice: this.slice,
    entering: this.entering,
    onIdle: () => this.committer.flush(),
    mayBeginLarge: () => !this.committer.isAhead(),
  });
  readonly entries = new Entries(this.environment, this.slice);
  readonly storeOutage = new StoreOutage(this);
  readonly suspects = new SuspectSlot(this);
  readonly queues = new Queues(this);

  // The instances loop: leases instances, runs their turns and commits the turns.
  readonly window = new BeginWindow(this);
  readonly intake = new Intake(this);
  readonly firstTurns = new FirstTurns(this);
  readonly localJobs = new LocalJobs(this);
  readonly localStarts = new LocalStarts(this);
  readonly localCode = new LocalCode(this);
  readonly heldInstances = new HeldInstances(this);
  readonly pastBlocks = new PastBlocks(this.log);
  readonly limitWatch = new LimitWatch(this.options.limits, this.log);
  readonly blocker = new Blocker(this);
  readonly shadowing = new Shadowing(this);
  readonly turnResults = new TurnResults(this);
  readonly instances = new Instances(this);

  // The attempts loop: runs activities and steps.
  readonly sessions = new Sessions(this);
  readonly attempts = new Attempts(this);
  readonly activities = this.attempts.activities;
  readonly steps = this.attempts.steps;

  // The upkeep loop: heartbeats, lost leases, and work for the store as a whole.
  readonly liveness = new Liveness(this);
  readonly leaseCheck = new LeaseCheck(this);
  readonly lostLeases = new LostLeases(this);
  readonly retention = new RetentionSweeper(this, this.options.retention);
  readonly keptExpiry = new KeptExpiry(this);
  readonly unclaimed = new Unclaimed(this);
  readonly upkeep = new Upkeep(this);
}
