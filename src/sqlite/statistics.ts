// Statistics: how large one instance has grown.
//   S1. Events and bytes are those of the newest execution, which is what a replay reads; keys are the
//       instance's.

import type { StatementSync } from "node:sqlite";
import type { InstanceStatistics } from "../core/provider/admin.ts";
import { integer } from "./columns.ts";
import type { Connection } from "./connection.ts";

const NOTHING: InstanceStatistics = { events: 0, bytes: 0, unread: 0, keys: 0, keyBytes: 0 };

export class Statistics {
  readonly #connection: Connection;
  readonly #select: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#select = connection.prepare(`
      SELECT last_event AS events,
        (SELECT coalesce(sum(octet_length(data)), 0) FROM history
          WHERE history.instance = ?1 AND history.execution = instances.execution) AS bytes,
        (SELECT count(*) FROM inbox WHERE inbox.instance = ?1 AND kind = 'event') AS unread,
        (SELECT count(*) FROM kv WHERE kv.instance = ?1) AS keys,
        (SELECT coalesce(sum(octet_length(value)), 0) FROM kv WHERE kv.instance = ?1) AS key_bytes
      FROM instances WHERE key = ?1`);
  }

  read(key: number): Promise<InstanceStatistics> {
    return this.#connection.read(() => {
      const row = this.#select.get(key);
      if (row === undefined) return NOTHING;
      return {
        events: integer(row, "events"),
        bytes: integer(row, "bytes"),
        unread: integer(row, "unread"),
        keys: integer(row, "keys"),
        keyBytes: integer(row, "key_bytes"),
      };
    });
  }
}
