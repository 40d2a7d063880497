// Queue scans: the statements about the parts of a queue (sql/lease/queue-statements.ts), as SQLite scans
// distinct values.

import { queueStatements } from "../../sql/lease/queue-statements.ts";
import { looseIndexScan } from "../sql/loose-index-scan.ts";

export const QUEUE_STATEMENTS = queueStatements({
  tags: "tags",
  tagsText: "r.tags",
  queueParts: `
    WITH RECURSIVE ${looseIndexScan(
      "parts",
      "tasks",
      "r.lease_owner IS NULL AND r.session IS NULL AND r.suspect = $1 AND r.name = $2",
      ["tags", "priority"],
    )} SELECT tags AS tag_set, tags, priority FROM parts`,
});
