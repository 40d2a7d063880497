// Cases: the suite as data, so that it can be registered with Vitest, and also be run against a provider
// that is broken on purpose to see which case notices.

import { describe, test } from "vitest";
import { VirtualEnvironment } from "../virtual-environment.ts";
import { offers, type Need, type OpenProvider } from "./open-provider.ts";
import { Setup } from "./setup.ts";

export interface ContractCase {
  /** A sentence about behaviour; within its subject no two are alike. */
  readonly title: string;
  /** Left out where the provider cannot be brought into the state in question. */
  readonly needs?: readonly Need[];
  run(setup: Setup): Promise<void>;
}

export interface ContractSubject {
  readonly subject: string;
  readonly cases: readonly ContractCase[];
}

/** Runs one case on a store of its own. `skip` is called, and must throw, when the case cannot be run. */
export async function runCase(
  contractCase: ContractCase,
  open: OpenProvider,
  skip: (why: string) => never,
): Promise<void> {
  const environment = new VirtualEnvironment();
  const opened = await open({ environment });
  const setup = new Setup(environment, opened);
  try {
    const missing = contractCase.needs?.filter((need) => !offers(opened, need)) ?? [];
    if (missing.length > 0) skip(`the provider under test offers no ${missing.join(", ")}`);
    await setup.prepare();
    await contractCase.run(setup);
  } finally {
    await setup.close();
  }
}

/** Registers a subject's cases with Vitest. */
export function registerCases(subject: ContractSubject, open: OpenProvider): void {
  describe(subject.subject, () => {
    for (const contractCase of subject.cases) {
      test(contractCase.title, (context) =>
        runCase(contractCase, open, (why) => context.skip(why)),
      );
    }
  });
}
