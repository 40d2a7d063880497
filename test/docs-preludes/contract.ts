// providerContract, as src/testing/conformance/index.ts has it.

import type * as library from "perdure";

declare function providerContract(
  name: string,
  open: (options: { readonly environment: library.Environment }) => Promise<{
    readonly provider: library.Provider;
    reopen?(): Promise<library.Provider>;
    cleanup(): Promise<void>;
  }>,
): void;
