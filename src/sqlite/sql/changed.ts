// Changed: whether a statement changed anything.

import type { StatementResultingChanges } from "node:sqlite";

export function changed(result: StatementResultingChanges): boolean {
  return result.changes > 0;
}
