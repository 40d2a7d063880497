// W16 for peers that are job queues.

import { measureJobs } from "../../jobs.ts";
import { queueAdapterOf } from "../catalogue.ts";
import type { PeerRun } from "../run.ts";

export const run: PeerRun = async ({ peer, setting }) => {
  const { serve, open } = await queueAdapterOf(peer);
  const served = await serve?.(setting);
  const server = served?.server ?? null;
  try {
    return await measureJobs(setting, (load, handler) =>
      open({ ...setting, load, server }, handler),
    );
  } finally {
    await served?.close();
  }
};
