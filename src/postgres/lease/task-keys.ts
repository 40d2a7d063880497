// Task keys: tasks named by their addresses and tokens, as parameters of a statement.
//   - task-keys.1: Tasks are locked in the order of their addresses. A transaction that also locks
//       instances locks them first. This fixed order rules out deadlocks.
//   - task-keys.2: An answer refers to a task by `n`, its position among the parameters.

import { columns } from "../sql/column-arrays.ts";
import type { TaskAddress, TaskClaim } from "../../core/provider/tasks.ts";
import { integer, type Row } from "../../sql/columns.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

export const ADDRESS = { instance: "bigint", execution: "bigint", sequence: "bigint" } as const;
export const CLAIM = {
  ...ADDRESS,
  ...columns("bigint", "token", "session_token"),
  session_claim: "text",
} as const;

/** Conditions on a task `t` and the parameters `c`. */
export const IS_AT = `
  ${indexEquals("t.instance", "c.instance")} AND t.execution = c.execution AND t.sequence = c.sequence`;
export const IS_CLAIMED = `${IS_AT} AND t.lease_token = c.token`;
export const CLEAR_LEASE = "lease_owner = NULL, lease_token = NULL, lease_until = NULL";

export interface AddressColumns {
  readonly instance: number;
  readonly execution: number;
  readonly sequence: number;
}

export function addressColumns({ key, execution, sequence }: TaskAddress): AddressColumns {
  return { instance: key, execution, sequence };
}

export function claimColumns(claim: TaskClaim) {
  return {
    ...addressColumns(claim),
    token: claim.token,
    session_token: claim.sessionClaim?.token ?? null,
    session_claim: claim.sessionClaim?.id ?? null,
  };
}

/** task-keys.1 */
export function inOrder<Columns extends AddressColumns>(tasks: Columns[]): Columns[] {
  return tasks.sort(
    (a, b) => a.instance - b.instance || a.execution - b.execution || a.sequence - b.sequence,
  );
}

/** task-keys.2 */
export function matchingRows<Columns>(
  rows: readonly Row[],
  columns: readonly Columns[],
): Columns[] {
  return rows.flatMap((row) => columns[integer(row, "n") - 1] ?? []);
}
