// Parts: one object a subject, each with its own prepared statements, put together once a connection.

import { Blocks } from "./blocks.ts";
import { GroupCommit } from "./commit.ts";
import type { Connection } from "./connection.ts";
import { Deletions } from "./deletion.ts";
import { Deliveries } from "./delivery.ts";
import { Endings } from "./ending.ts";
import { Forks } from "./fork.ts";
import { History } from "./history.ts";
import { Inbox } from "./inbox.ts";
import { Instances } from "./instances.ts";
import { KeptMessages } from "./kept.ts";
import { KeyValues } from "./key-values.ts";
import { InstanceLeases } from "./leases.ts";
import { Listing } from "./listing.ts";
import { Metrics } from "./metrics.ts";
import { Notifier } from "./notifications.ts";
import { Pauses } from "./pause.ts";
import { Peeks } from "./peek.ts";
import { Pruning } from "./pruning.ts";
import { Queues } from "./queues.ts";
import { Requests } from "./requests.ts";
import { Runtimes } from "./runtimes.ts";
import { Sends } from "./send.ts";
import { Sessions } from "./sessions.ts";
import { Settlement } from "./settle.ts";
import { Starts } from "./start.ts";
import { State } from "./state.ts";
import { Statistics } from "./statistics.ts";
import { StepOutcomes } from "./step-outcomes.ts";
import { TaskQueue } from "./task-queue.ts";
import { SweepClaims } from "./sweep-claim.ts";
import { Tasks } from "./tasks.ts";
import { Turns } from "./turn.ts";
import { WaitingReport } from "./waiting.ts";

/** What the provider's methods call. */
export interface Parts {
  readonly inbox: Inbox;
  readonly history: History;
  readonly instances: Instances;
  readonly tasks: Tasks;
  readonly notifier: Notifier;
  readonly groups: GroupCommit;
  readonly starts: Starts;
  readonly sends: Sends;
  readonly stepOutcomes: StepOutcomes;
  readonly settlement: Settlement;
  readonly leases: InstanceLeases;
  readonly queue: TaskQueue;
  readonly sessions: Sessions;
  readonly runtimes: Runtimes;
  readonly peeks: Peeks;
  readonly keyValues: KeyValues;
  readonly listing: Listing;
  readonly deletions: Deletions;
  readonly sweeps: SweepClaims;
  readonly pruning: Pruning;
  readonly metrics: Metrics;
  readonly queues: Queues;
  readonly waiting: WaitingReport;
  readonly statistics: Statistics;
}

export function assemble(connection: Connection): Parts {
  const inbox = new Inbox(connection);
  const history = new History(connection);
  const instances = new Instances(connection);
  const requests = new Requests(connection);
  const notifier = new Notifier(connection);
  const keyValues = new KeyValues(connection);
  const kept = new KeptMessages(connection, inbox, requests);
  const deliveries = new Deliveries(inbox);
  const pauses = new Pauses(connection, instances, inbox);
  const blocks = new Blocks(connection, instances, inbox);
  const stepOutcomes = new StepOutcomes(connection, inbox);
  const sessions = new Sessions(connection, notifier);
  const runtimes = new Runtimes(connection, { inbox, notifier, sessions });
  const leases = new InstanceLeases(connection, inbox, history, runtimes);
  const tasks = new Tasks(connection, { inbox, instances, sessions });
  const endings = new Endings({ instances, inbox, tasks, history, deliveries, pauses });
  const sends = new Sends({ instances, requests, deliveries, endings, kept });
  const starts = new Starts({
    instances,
    inbox,
    requests,
    endings,
    deliveries,
    runtimes,
    kept,
    keyValues,
  });
  const forks = new Forks(connection, { instances, history, inbox, keyValues, kept });
  const state = new State(connection, keyValues);
  const turns = new Turns(connection, { inbox, tasks, history, requests, starts, sends, state });
  const writers = {
    starts,
    turns,
    tasks,
    sends,
    endings,
    leases,
    pauses,
    blocks,
    forks,
    stepOutcomes,
  };
  return {
    inbox,
    history,
    instances,
    tasks,
    notifier,
    leases,
    starts,
    sends,
    stepOutcomes,
    groups: new GroupCommit(connection, writers, notifier),
    settlement: new Settlement(connection, {
      instances,
      inbox,
      tasks,
      requests,
      kept,
      stepOutcomes,
    }),
    queue: new TaskQueue(connection, runtimes, sessions),
    sessions,
    runtimes,
    peeks: new Peeks(connection),
    keyValues,
    listing: new Listing(connection),
    sweeps: new SweepClaims(connection),
    deletions: new Deletions(connection, { instances, tasks, endings, notifier }),
    pruning: new Pruning(connection, instances, history),
    metrics: new Metrics(connection),
    queues: new Queues(connection),
    waiting: new WaitingReport(connection),
    statistics: new Statistics(connection),
  };
}
