// Contract cases as data: they can be registered with Vitest, or run one by one against a provider with a
// deliberate bug, to see which case fails.

import { describe, test } from "vitest";
import { VirtualEnvironment } from "../virtual-environment.ts";
import { has, type Need, type OpenProvider } from "./open-provider.ts";
import { Setup } from "./setup.ts";

/** One case of the contract. */
export interface ContractCase {
  /** A sentence about behavior; unique within its subject. */
  readonly title: string;
  /** What the case needs beyond a provider. The suite leaves the case out if `open` does not offer it. */
  readonly needs?: readonly Need[];
  run(setup: Setup): Promise<void>;
}

/** The cases about one subject. */
export interface ContractSubject {
  readonly subject: string;
  readonly cases: readonly ContractCase[];
}

/** Options of the contract, besides `open`. */
export interface ContractOptions {
  /** What `open` offers besides a provider. The suite leaves out cases that need more. */
  readonly offers?: readonly Need[];
}

/** The cases of a subject whose needs are offered. */
export function casesWith(
  { cases }: ContractSubject,
  { offers = [] }: ContractOptions,
): readonly ContractCase[] {
  return cases.filter(({ needs = [] }) => needs.every((need) => offers.includes(need)));
}

/** Runs one case on a separate store. */
export async function runCase(contractCase: ContractCase, open: OpenProvider): Promise<void> {
  const environment = new VirtualEnvironment();
  const opened = await open({ environment });
  const setup = new Setup(environment, opened);
  try {
    const missing = contractCase.needs?.filter((need) => !has(opened, need)) ?? [];
    if (missing.length > 0)
      throw new Error(
        `This case needs ${missing.join(", ")}, which the opened provider does not offer.`,
      );
    await setup.prepare();
    await contractCase.run(setup);
  } finally {
    await setup.close();
  }
}

/** Registers the cases of a subject with Vitest. */
export function registerCases(
  subject: ContractSubject,
  open: OpenProvider,
  options: ContractOptions = {},
): void {
  const cases = casesWith(subject, options);
  if (cases.length === 0) return;
  describe(subject.subject, () => {
    for (const contractCase of cases) {
      test(contractCase.title, () => runCase(contractCase, open));
    }
  });
}
