// What an audit finds, by what it would mean to a user. A sound run has none.

export const FAULT_KINDS = {
  lost: "was acknowledged, and is not there or has another value",
  stuck: "was not at its end when all faults were long over",
  duplicated: "entered history, or was entered as an attempt, a second time",
  ended: "was ended or set aside although neither its code nor an operator wanted it",
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
