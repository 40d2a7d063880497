// Store parts: what scripts need of a store and each store writes itself, because it is on the path of every
// turn or because the two databases differ.
//   - A part is a generator, so a script can use it like any other script. SQLite's parts run their
//     statements at once; PostgreSQL's parts yield a pipeline.

import type { NewInstance, StartItem, TurnItem } from "../core/provider/commit.ts";
import type { HistoryRow } from "../core/history/rows.ts";
import type { InstanceStatus } from "../core/provider/instances.ts";
import type { KeptMessage, Message, OutgoingMessage } from "../core/provider/messages.ts";
import type { ChecksumPart } from "../core/values/checksum.ts";
import type { InstanceHead } from "./rows/instance-rows.ts";
import type { Scope } from "./script/scope.ts";
import type { Script } from "./script/script.ts";
import type { Statement } from "./script/statement.ts";
import type { Beginning } from "./write/restart.ts";

export type NewMessage = Omit<Message, "id">;

/** What the checksum of a kept message may cover. */
export interface CoveredKept {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly data: string;
}

/** How an instance ends without a turn. */
export interface Ending {
  readonly status: InstanceStatus;
  readonly error: string;
  readonly cancelRequested: string | null;
  /** The last row of the execution's history. */
  readonly row: HistoryRow;
}

/** The next execution of an instance, which begins as if it were new. */
export interface NextExecution {
  readonly instance: NewInstance;
  readonly key: number;
  readonly execution: number;
}

/** Statements for which the databases need different text. */
export interface StoreStatements {
  /**
   * Locks ended instances without a parent and without delete_after, in the order of their end, and skips locked ones: key,
   * completed_at. Parameters: status, completed before, the cursor's time and key, limit.
   */
  readonly lockEnded: Statement;
  /** The instances with these keys and all their descendants: root, key, id, status. */
  readonly selectTrees: Statement;
  /**
   * Begins the next execution of an instance with a copied past. Parameters: key, last copied event, attributes and their
   * checksum, status and its checksum, time.
   */
  readonly beginRewound: Statement;
  /** How many messages are due: due. */
  readonly countDue: Statement;
  /** The oldest waiting task of each kind: name, tags, at. */
  readonly waitingTasks: Statement;
  /** Ended jobs that failed: name, failed_jobs. */
  readonly countFailedJobs: Statement;
  /** The oldest due message of each target whose instance could be leased: target, at. */
  readonly waitingInstances: Statement;
  /**
   * When the next instance comes due: now, at, has_expired (provider.runtimes.6). Parameters: targets, owner, the owner as
   * a JSON string, the entries of the caller's code in `blocked_by`.
   */
  readonly nextInstances: Statement;
  /**
   * When the next task of each kind comes due, as if no queue had a rule: name, tags, at, is_ruled. Parameters: owner, owner
   * of sessions or null.
   */
  readonly nextTasks: Statement;
}

/** The parts that only read. */
export interface ReadParts {
  /** The values that the checksum of a message covers (admin/checksums.ts). */
  coveredOf(instance: number, message: NewMessage): readonly ChecksumPart[];
  /** The values that the checksum of a kept message covers (admin/checksums.ts). */
  coveredOfKept(message: CoveredKept): readonly ChecksumPart[];
  /** The due messages of an instance, in order. */
  due(key: number, messagesMax: number): Script<readonly Message[]>;
}

export interface StoreParts<S extends Scope> extends ReadParts {
  readonly statements: StoreStatements;
  /** Locks an instance with its parent and its children, which its end may change. */
  lockFamily(id: string): Script<void>;
  /** Inserts a new instance and its early messages. Null: the id exists. */
  insert(instance: NewInstance, scope: S): Script<number | null>;
  /**
   * Inserts a new instance with its start message and its early messages. It gets no lease, and no first turn. Null: the
   * id exists.
   */
  start(item: StartItem, scope: S): Script<number | null>;
  /**
   * Inserts a new instance with its first turn and its early messages, and no start message. The turn only schedules tasks
   * without a lease (`schedulesOnly`). Null: the id exists.
   */
  begin(item: StartItem, turn: TurnItem, scope: S): Script<number | null>;
  /**
   * Begins the next execution of an ended instance with an empty inbox and without key-values. Returns its start message.
   */
  revive(next: NextExecution, beginning: Beginning, scope: S): Script<Message>;
  /** Puts events back in front of those that wait in the inbox. All events of the instance are parked. */
  putBack(key: number, events: readonly KeptMessage[], scope: S): Script<void>;
  /**
   * Ends an instance, writes the last row of its history, and deletes its tasks and all messages but its
   * events. The statement that ends it also clears its lease (semantics 19a).
   */
  end(target: InstanceHead, ending: Ending, scope: S): Script<void>;
  /**
   * Puts a message into an inbox. It is dropped if its receiver is missing, has ended, or is another run
   * with the same id.
   */
  post(message: OutgoingMessage, scope: S): Script<void>;
}
