// Statistics: the size of one instance.
//   - Events and bytes count the newest execution, which a replay reads. Keys count the whole instance.

import type { InstanceStatistics } from "../../core/provider/admin.ts";
import { integer, integers } from "../columns.ts";
import { first, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

const NOTHING: InstanceStatistics = { events: 0, bytes: 0, unread: 0, keys: 0, keyBytes: 0 };

const SELECT = new Statement(`
  SELECT i.last_event AS events,
    (SELECT coalesce(sum(octet_length(h.data)), 0) FROM @history AS h
      WHERE h.instance = i.key AND h.execution = i.execution) AS bytes,
    (SELECT count(*) FROM @inbox AS m WHERE m.instance = i.key AND m.kind = 'event') AS unread,
    (SELECT count(*) FROM @kv AS v WHERE v.instance = i.key) AS keys,
    (SELECT coalesce(sum(octet_length(v.value)), 0) FROM @kv AS v
      WHERE v.instance = i.key) AS key_bytes
  FROM @instances AS i WHERE i.key = $1`);

export function* readStatistics(key: number): Script<InstanceStatistics> {
  const row = yield* first(SELECT, key);
  if (row === undefined) return NOTHING;
  const counts = integers(row, "events", "bytes", "unread", "keys");
  return { ...counts, keyBytes: integer(row, "key_bytes") };
}
