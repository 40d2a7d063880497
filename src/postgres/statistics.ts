// Statistics: how large one instance has grown.
//   S1. Events and bytes are those of the newest execution, which is what a replay reads; keys are the
//       instance's.

import type { InstanceStatistics } from "../core/provider/admin.ts";
import { integer } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Statement } from "./pipeline.ts";

const NOTHING: InstanceStatistics = { events: 0, bytes: 0, unread: 0, keys: 0, keyBytes: 0 };

export class Statistics {
  readonly #connection: Connection;
  readonly #select: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#select = connection.prepare(`
      SELECT i.last_event AS events,
        (SELECT coalesce(sum(octet_length(h.data)), 0) FROM @history AS h
          WHERE h.instance = i.key AND h.execution = i.execution) AS bytes,
        (SELECT count(*) FROM @inbox AS m WHERE m.instance = i.key AND m.kind = 'event') AS unread,
        (SELECT count(*) FROM @kv AS v WHERE v.instance = i.key) AS keys,
        (SELECT coalesce(sum(octet_length(v.value)), 0) FROM @kv AS v
          WHERE v.instance = i.key) AS key_bytes
      FROM @instances AS i WHERE i.key = $1`);
  }

  async read(key: number): Promise<InstanceStatistics> {
    const [row] = await this.#connection.read(this.#select, [key]);
    if (row === undefined) return NOTHING;
    return {
      events: integer(row, "events"),
      bytes: integer(row, "bytes"),
      unread: integer(row, "unread"),
      keys: integer(row, "keys"),
      keyBytes: integer(row, "key_bytes"),
    };
  }
}
