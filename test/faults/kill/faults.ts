// The kinds of faults that an audit finds, named by their meaning to a user. A correct run has none.

export const FAULT_KINDS = {
  lost: "was acknowledged, and is missing or has a different value",
  stuck: "had not ended long after the last fault",
  duplicated: "entered history, or ran as an attempt, a second time",
  ended: "was ended or blocked although neither its code nor an operator asked for it",
  unsound: "could not have been written by one process that never died",
} as const;
export type FaultKind = keyof typeof FAULT_KINDS;

export interface Fault {
  readonly kind: FaultKind;
  readonly what: string;
}

export function countFaults(faults: readonly Fault[]): Record<FaultKind, number> {
  const counts: Record<FaultKind, number> = {
    lost: 0,
    stuck: 0,
    duplicated: 0,
    ended: 0,
    unsound: 0,
  };
  for (const { kind } of faults) counts[kind]++;
  return counts;
}
