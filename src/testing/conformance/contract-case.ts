// Cases: the suite as data, so that it can be registered with Vitest, and also be run against a provider
// that is broken on purpose to see which case notices.

import { describe, test } from "vitest";
import { VirtualEnvironment } from "../virtual-environment.ts";
import { has, type Need, type OpenProvider } from "./open-provider.ts";
import { Setup } from "./setup.ts";

/** One case of the contract. */
export interface ContractCase {
  /** A sentence about behaviour; within its subject no two are alike. */
  readonly title: string;
  /** Left out where the provider cannot be brought into the state in question. */
  readonly needs?: readonly Need[];
  run(setup: Setup): Promise<void>;
}

/** The cases about one subject. */
export interface ContractSubject {
  readonly subject: string;
  readonly cases: readonly ContractCase[];
}

/** What is said about a provider besides how to open it. */
export interface ContractOptions {
  /** What `open` gives besides a provider. Cases that need more are no part of the suite. */
  readonly offers?: readonly Need[];
}

/** The cases that can be run with what is offered. */
export function casesWith(
  { cases }: ContractSubject,
  { offers = [] }: ContractOptions,
): readonly ContractCase[] {
  return cases.filter(({ needs = [] }) => needs.every((need) => offers.includes(need)));
}

/** Runs one case on a store of its own. */
export async function runCase(contractCase: ContractCase, open: OpenProvider): Promise<void> {
  const environment = new VirtualEnvironment();
  const opened = await open({ environment });
  const setup = new Setup(environment, opened);
  try {
    const missing = contractCase.needs?.filter((need) => !has(opened, need)) ?? [];
    if (missing.length > 0) throw new Error(`what was opened offers no ${missing.join(", ")}`);
    await setup.prepare();
    await contractCase.run(setup);
  } finally {
    await setup.close();
  }
}

/** Registers a subject's cases with Vitest. */
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
