// perdure/batch: jobs whose handler works on several items at once.

export { batchJob } from "./batch-job.ts";
export type {
  BatchContext,
  BatchHandler,
  BatchItem,
  BatchOptions,
  BatchOutcome,
  BatchReturn,
  BatchRule,
} from "./types.ts";
