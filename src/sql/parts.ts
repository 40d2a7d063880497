// Store parts: what scripts need of a store and each store writes itself, because it is on the path of every
// turn or because the two databases differ.
//   - A part is a generator, so a script can use it like any other script. SQLite's parts run their
//     statements at once; PostgreSQL's parts yield a pipeline.

import type { NewInstance } from "../core/provider/commit.ts";
import type { HistoryRow } from "../core/history/rows.ts";
import type { InstanceStatus } from "../core/provider/instances.ts";
import type { Message, OutgoingMessage } from "../core/provider/messages.ts";
import type { ChecksumPart } from "../core/values/checksum.ts";
import type { InstanceHead } from "./rows/instance-rows.ts";
import type { Scope } from "./script/scope.ts";
import type { Script } from "./script/script.ts";
import type { Statement } from "./script/statement.ts";

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

/** Statements for which the databases need different text. */
export interface StoreStatements {
  /**
   * Locks ended instances without a parent, in the order of their end, and skips locked ones: key,
   * completed_at. Parameters: status, completed before, the cursor's time and key, limit.
   */
  readonly lockEnded: Statement;
  /** The instances with these keys and all their descendants: root, key, id, status. */
  readonly selectTrees: Statement;
  /** How many messages are due: due. */
  readonly countDue: Statement;
  /** The oldest waiting task of each kind: name, tags, at. */
  readonly waitingTasks: Statement;
  /** The oldest due message of each target whose instance could be leased: target, at. */
  readonly waitingInstances: Statement;
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
