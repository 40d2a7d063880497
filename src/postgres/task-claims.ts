// Task claims: tasks named by their addresses and tokens, as rows of a statement's parameters.
//   TC1. Tasks are locked in the order of their addresses, and behind their instances by whoever holds those too: so
//        nobody waits for somebody who waits for him.
//   TC2. An answer names them by `n`, their place among the parameters.

import type { TaskAddress, TaskClaim } from "../core/provider/tasks.ts";
import { integer, type Row } from "./columns.ts";
import { probe } from "./probing.ts";

export const ADDRESS = { instance: "bigint", execution: "bigint", sequence: "bigint" } as const;
export const CLAIM = {
  ...ADDRESS,
  token: "bigint",
  session_token: "bigint",
  session_claim: "text",
} as const;

/** Of a task `t` and the columns `c`. */
export const IS_AT = `
  ${probe("t.instance", "c.instance")} AND t.execution = c.execution AND t.sequence = c.sequence`;
export const IS_CLAIMED = `${IS_AT} AND t.lease_token = c.token`;
export const FREE = "lease_owner = NULL, lease_token = NULL, lease_until = NULL";

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

/** TC1 */
export function inOrder<Columns extends AddressColumns>(tasks: Columns[]): Columns[] {
  return tasks.sort(
    (a, b) => a.instance - b.instance || a.execution - b.execution || a.sequence - b.sequence,
  );
}

/** TC2 */
export function named<Columns>(rows: readonly Row[], columns: readonly Columns[]): Columns[] {
  return rows.flatMap((row) => columns[integer(row, "n") - 1] ?? []);
}
