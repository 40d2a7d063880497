// Queue scans: the statements about the parts of a queue (sql/lease/queue-statements.ts), as PostgreSQL scans
// distinct values.

import { queueStatements } from "../../sql/lease/queue-statements.ts";
import { looseIndexScan } from "../sql/loose-index-scan.ts";
import { PLAIN } from "./queue-partitions.ts";

export const QUEUE_STATEMENTS = queueStatements({
  tags: "tag_set",
  tagsText: "array_to_json(r.tags)::text",
  queueParts: `
    WITH RECURSIVE ${looseIndexScan("parts", {
      table: "@tasks",
      condition: `${PLAIN} AND r.suspect = $1::boolean AND r.name = $2`,
      columns: ["tag_set", "priority"],
      carried: ["tags"],
    })} SELECT c.tag_set, array_to_json(c.tags)::text AS tags, c.priority FROM parts AS c`,
});
