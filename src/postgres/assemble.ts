// Assembly: creates one object per subject, each with its own statements, once per connection.

import { Terminations } from "../sql/write/termination.ts";
import type { Connection } from "./connection/connection.ts";
import { HasWork } from "./lease/has-work.ts";
import { InstanceLeases } from "./lease/leases.ts";
import { Sessions } from "./lease/sessions.ts";
import { TaskLeasing } from "./lease/task-leasing.ts";
import { TaskQueue } from "./lease/task-queue.ts";
import { TaskRenewal } from "./lease/task-renewal.ts";
import { Tasks } from "./lease/tasks.ts";
import { ChangeNotifier } from "./notify/change-notifier.ts";
import { History } from "./read/history.ts";
import { Inbox } from "./read/inbox.ts";
import { Inspections } from "./read/inspection.ts";
import { Instances } from "./read/instances.ts";
import { LISTING } from "./read/listing.ts";
import { PostgresScripts } from "./script-store.ts";
import { storeParts } from "./store-parts.ts";
import { Outbox } from "./transactions/outbox.ts";
import { StartsWithin } from "./transactions/start-within.ts";
import { StepTransactions, type StepConnections } from "./transactions/step-transactions.ts";
import { sharedTransactions } from "./transactions/transactions.ts";
import { Answers } from "./write/answers.ts";
import { CallbackRows } from "./write/callback-rows.ts";
import { Asks } from "./write/asks.ts";
import { BulkStarts } from "./write/bulk-starts.ts";
import { GroupCommit, type Writers } from "./write/commit.ts";
import { Deliveries } from "./write/delivery.ts";
import { Dispatches } from "./write/dispatches.ts";
import { EarlyMessages } from "./write/early-messages.ts";
import { InstanceInserts } from "./write/instance-inserts.ts";
import { InstanceKeys } from "./write/instance-keys.ts";
import { KeyValues } from "./write/key-values.ts";
import { Requests } from "./write/requests.ts";
import { Sends } from "./write/send.ts";
import { Starts } from "./write/start.ts";
import { State } from "./write/state.ts";
import { StepOutcomes } from "./write/step-outcomes.ts";
import { Streams } from "./write/streams.ts";
import { TurnCompletion } from "./write/turn-completion.ts";
import { Turns } from "./write/turn.ts";

export function assemble(connection: Connection, forSteps: StepConnections) {
  const inbox = new Inbox(connection);
  const history = new History(connection);
  const instances = new Instances(connection);
  const requests = new Requests(connection);
  const notifier = new ChangeNotifier(connection);
  const scripts = new PostgresScripts(connection, notifier);
  const keyValues = new KeyValues(connection);
  const earlyMessages = new EarlyMessages(connection);
  const instanceKeys = new InstanceKeys(connection);
  const inserts = new InstanceInserts(connection, earlyMessages, instanceKeys);
  const deliveries = new Deliveries(connection);
  const stepOutcomes = new StepOutcomes(connection);
  const sessions = new Sessions(connection);
  const tasks = new Tasks(connection);
  const taskRenewal = new TaskRenewal(connection, notifier);
  const streams = new Streams(connection, taskRenewal);
  const owners = { instances, inserts, inbox, history, tasks, deliveries, keyValues };
  const parts = storeParts(owners);
  const terminations = new Terminations(parts);
  const sends = new Sends(connection, earlyMessages);
  const outbox = new Outbox(connection, { instances, sends, notifier });
  const leases = new InstanceLeases(connection, { inbox, notifier, outbox });
  const beginning = { inserts, instances, inbox, requests, terminations, parts };
  const starts = new Starts(connection, beginning);
  const turns = new Turns(connection, {
    inbox,
    tasks,
    sessions,
    taskRenewal,
    streams,
    history,
    starts,
    deliveries,
    state: new State(connection, keyValues),
    answers: new Answers(connection),
    callbackRows: new CallbackRows(connection),
    completion: new TurnCompletion(connection, { inbox, tasks, requests }),
  });
  const asks = new Asks(connection);
  const dispatches = new Dispatches(connection);
  const sending = { sends, asks, dispatches, outbox };
  const taskWriters = { tasks, taskRenewal, streams };
  const batched = { instances, starts, turns, stepOutcomes, leases, ...taskWriters, ...sending };
  const bulkStarts = starts;
  const jobs = new BulkStarts(connection, { outbox, instanceKeys });
  const forStarts = { instanceKeys, bulkStarts, jobs };
  const writers: Writers = { ...batched, terminations, parts, ...forStarts };
  const startsWithin = new StartsWithin(connection, inserts);
  const steps = new StepTransactions(connection, forSteps, { instances, stepOutcomes, notifier });
  return {
    parts,
    bulkStarts,
    scripts,
    terminations,
    inbox,
    instances,
    taskRenewal,
    notifier,
    leases,
    groupCommit: new GroupCommit(connection, writers, notifier),
    taskQueue: new TaskQueue(connection, {
      notifier,
      scripts,
      taskLeasing: new TaskLeasing(connection, sessions, scripts),
    }),
    hasWork: new HasWork(connection),
    listing: LISTING,
    inspections: new Inspections(connection),
    outbox,
    transactions: sharedTransactions(connection, { outbox, startsWithin, notifier, steps }),
  };
}
