// Assembly: creates one object per subject, each with its own prepared statements, once per connection.

import { Terminations } from "../sql/write/termination.ts";
import type { Connection } from "./connection/connection.ts";
import { HasWork } from "./lease/has-work.ts";
import { InstanceLeases } from "./lease/leases.ts";
import { Sessions } from "./lease/sessions.ts";
import { TaskQueue } from "./lease/task-queue.ts";
import { TaskRenewal } from "./lease/task-renewal.ts";
import { Tasks } from "./lease/tasks.ts";
import { ChangeNotifier } from "./notify/change-notifier.ts";
import { History } from "./read/history.ts";
import { Inbox } from "./read/inbox.ts";
import { Instances } from "./read/instances.ts";
import { LISTING } from "./read/listing.ts";
import { storeParts } from "./store-parts.ts";
import { GroupCommit } from "./write/commit.ts";
import { Asks } from "./write/asks.ts";
import { BulkStarts } from "./write/bulk-starts.ts";
import { Deliveries } from "./write/delivery.ts";
import { Dispatches } from "./write/dispatches.ts";
import { EarlyMessages } from "./write/early-messages.ts";
import { KeyValues } from "./write/key-values.ts";
import { Requests } from "./write/requests.ts";
import { Sends } from "./write/send.ts";
import { Starts } from "./write/start.ts";
import { State } from "./write/state.ts";
import { StepOutcomes } from "./write/step-outcomes.ts";
import { Streams } from "./write/streams.ts";
import { Turns } from "./write/turn.ts";
import { type Script, together } from "../sql/script/script.ts";
import type { Call } from "../sql/script/statement.ts";
import type { ScriptStore } from "../sql/script/store.ts";
import type { Transaction } from "./notify/change-draft.ts";

/** The objects that the provider's methods call. */
export type SqliteParts = ReturnType<typeof assemble>;

export function assemble(connection: Connection) {
  const inbox = new Inbox(connection);
  const history = new History(connection);
  const instances = new Instances(connection);
  const requests = new Requests(connection);
  const notifier = new ChangeNotifier(connection);
  const scripts = new SqliteScripts(connection, notifier);
  const keyValues = new KeyValues(connection);
  const earlyMessages = new EarlyMessages(connection, inbox, requests);
  const deliveries = new Deliveries(inbox);
  const stepOutcomes = new StepOutcomes(connection, inbox);
  const sessions = new Sessions(connection);
  const leases = new InstanceLeases(connection, inbox, history);
  const streams = new Streams(connection);
  const tasks = new Tasks(connection, { inbox, instances, sessions, streams });
  const owners = { instances, inbox, history, tasks, deliveries, earlyMessages, keyValues };
  const parts = storeParts(connection, owners);
  const terminations = new Terminations(parts);
  const messaging = { instances, requests, deliveries, terminations, earlyMessages };
  const sends = new Sends(connection, messaging);
  const starts = new Starts(connection, { ...messaging, inbox, parts });
  const asks = new Asks({ instances, requests, deliveries, starts });
  const dispatched = { instances, deliveries, asks, sends, starts };
  const dispatches = new Dispatches(connection, dispatched);
  const state = new State(connection, keyValues);
  const forTurns = { inbox, tasks, sessions, history, requests, starts, sends, state };
  const turns = new Turns(connection, { ...forTurns, dispatches, streams, parts });
  const forBulk = { instances, history, tasks, earlyMessages, starts };
  const bulkStarts = new BulkStarts(connection, forBulk);
  const forItems = { starts, turns, tasks, sends, asks, leases, stepOutcomes, streams };
  const writers = { ...forItems, terminations, parts, bulkStarts };
  return {
    parts,
    bulkStarts,
    terminations,
    inbox,
    instances,
    notifier,
    leases,
    starts,
    sends,
    stepOutcomes,
    scripts,
    groupCommit: new GroupCommit(connection, writers, notifier),
    taskQueue: new TaskQueue(connection, { sessions, scripts }),
    taskRenewal: new TaskRenewal(connection, notifier, tasks),
    hasWork: new HasWork(connection),
    listing: LISTING,
  };
}

// Script store of SQLite: runs scripts in the transactions of the connection.

class SqliteScripts implements ScriptStore<Transaction> {
  readonly #connection: Connection;
  readonly #notifier: ChangeNotifier;

  constructor(connection: Connection, notifier: ChangeNotifier) {
    this.#connection = connection;
    this.#notifier = notifier;
  }

  read<T>(script: (now: number) => Script<T>): Promise<T> {
    return this.#connection.read(() => {
      const now = this.#connection.now();
      return this.#connection.run(script(now), now);
    });
  }

  write<T>(script: (scope: Transaction) => Script<T>): Promise<T> {
    return this.#notifier.write((transaction) =>
      this.#connection.run(script(transaction), transaction.now),
    );
  }

  /** The transaction holds the only write lock. */
  writeWithout<T>(_owner: string, script: (scope: Transaction) => Script<T>): Promise<T> {
    return this.write(script);
  }

  writeOnce(call: Call): Promise<number> {
    return this.write(function* () {
      const [{ count }] = yield* together(call);
      return count;
    });
  }
}
