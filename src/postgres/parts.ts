// Parts: one object a subject, each with its own statements, put together once a connection.

import { Arrivals } from "./arrivals.ts";
import { Births } from "./births.ts";
import { Blocks } from "./blocks.ts";
import { GroupCommit } from "./commit.ts";
import type { Connection } from "./connection.ts";
import { Deletions } from "./deletion.ts";
import { Deliveries } from "./delivery.ts";
import { Endings } from "./ending.ts";
import { Forks } from "./fork.ts";
import { History } from "./history.ts";
import { Inbox } from "./inbox.ts";
import { Inspections } from "./inspection.ts";
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
import { StartsWithin } from "./start-within.ts";
import { State } from "./state.ts";
import { Statistics } from "./statistics.ts";
import { StepOutcomes } from "./step-outcomes.ts";
import { StepTransactions, type StepConnections } from "./step-transactions.ts";
import { TaskHolds } from "./task-holds.ts";
import { TaskQueue } from "./task-queue.ts";
import { TaskTakes } from "./task-takes.ts";
import { SweepClaims } from "./sweep-claim.ts";
import { Tasks } from "./tasks.ts";
import { SharedTransactions } from "./transactions.ts";
import { TurnEnds } from "./turn-ends.ts";
import { Turns } from "./turn.ts";
import { WaitingReport } from "./waiting.ts";

/** What the provider's methods call. */
export interface Parts {
  readonly inbox: Inbox;
  readonly history: History;
  readonly instances: Instances;
  readonly holds: TaskHolds;
  readonly notifier: Notifier;
  readonly groups: GroupCommit;
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
  readonly inspections: Inspections;
  readonly arrivals: Arrivals;
  readonly transactions: SharedTransactions;
}

export function assemble(connection: Connection, forSteps: StepConnections): Parts {
  const inbox = new Inbox(connection);
  const history = new History(connection);
  const instances = new Instances(connection);
  const requests = new Requests(connection);
  const notifier = new Notifier(connection);
  const keyValues = new KeyValues(connection);
  const kept = new KeptMessages(connection);
  const births = new Births(connection, kept);
  const deliveries = new Deliveries(connection);
  const pauses = new Pauses(connection, instances, inbox);
  const blocks = new Blocks(connection, instances, inbox);
  const stepOutcomes = new StepOutcomes(connection, inbox, history);
  const sessions = new Sessions(connection, notifier);
  const runtimes = new Runtimes(connection, { inbox, notifier, sessions });
  const tasks = new Tasks(connection, sessions);
  const holds = new TaskHolds(connection, notifier);
  const takes = new TaskTakes(connection, sessions, runtimes);
  const endings = new Endings({ instances, inbox, tasks, history, deliveries, pauses });
  const sends = new Sends(connection, kept);
  const arrivals = new Arrivals(connection, { instances, sends, notifier });
  const leases = new InstanceLeases(connection, { inbox, notifier, arrivals });
  const met = { births, instances, inbox, requests, endings, runtimes, keyValues };
  const starts = new Starts(connection, met);
  const forks = new Forks(connection, { births, history, inbox, keyValues });
  const state = new State(connection, keyValues);
  const ends = new TurnEnds(connection, { inbox, tasks, requests });
  const turned = { inbox, tasks, holds, history, starts, deliveries, state, ends };
  const turns = new Turns(connection, turned);
  const batch = { instances, starts, turns, tasks, sends, stepOutcomes, leases, arrivals };
  const writers = { ...batch, endings, pauses, blocks, forks };
  const startsWithin = new StartsWithin(connection, births);
  const stepped = { instances, stepOutcomes, notifier };
  const steps = new StepTransactions(connection, forSteps, stepped);
  const shared = { arrivals, startsWithin, notifier, steps };
  const settled = { instances, inbox, holds, requests, kept, stepOutcomes };
  return {
    inbox,
    history,
    instances,
    holds,
    notifier,
    leases,
    groups: new GroupCommit(connection, writers, notifier),
    settlement: new Settlement(connection, settled),
    queue: new TaskQueue(connection, notifier, takes),
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
    inspections: new Inspections(connection),
    arrivals,
    transactions: new SharedTransactions(connection, shared),
  };
}
