// The order of the test files: the slowest ones first, so that none of them runs alone at the end.
//   - Vitest remembers how long files took, but a fresh clone has no such memory.

import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take more than 20 seconds. The end of a run lists the ten slowest files. */
const SLOW = [
  "test/faults/simulation/sabotage.test.ts",
  "test/stores/conformance/postgres.test.ts",
  "test/faults/simulation/seeds.test.ts",
  "test/faults/simulation/queues.test.ts",
  "test/faults/simulation/determinism.test.ts",
  "test/interfaces/cli/worker.test.ts",
  "test/interfaces/ui/layout.test.ts",
  "test/interfaces/ui/mounted.test.ts",
];

export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files);
    const isSlow = ({ moduleId, project }: TestSpecification): boolean =>
      SLOW.includes(relative(project.config.root, moduleId));
    return [...others.filter(isSlow), ...others.filter((file) => !isSlow(file))];
  }
}
