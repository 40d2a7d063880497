// Running a peer within a repetition: its server, if it has one, and an engine in this process.

import type { Reading, Setting } from "../subject.ts";
import { adapterOf } from "./catalogue.ts";
import { increment, type Engine, type Place, type Work } from "./peer.ts";

/** A workload's module, in `workloads/`, exports one as `run`. */
export type PeerRun = (order: PeerOrder) => Promise<readonly Reading[]>;

export interface PeerOrder {
  readonly peer: string;
  readonly tuned: boolean;
  readonly setting: Setting;
}

export const PLAIN_WORK: Work = {
  step: increment,
  waits: () => {},
  payload: () => "",
  produce: () => Promise.resolve(),
};

/** Opens, works, closes; anything left open keeps the process alive, and repetition.1 detects it. */
export async function withEngine<T>(
  order: PeerOrder,
  load: Place["load"],
  work: (engine: Engine) => Promise<T>,
  own: Partial<Work> = {},
): Promise<T> {
  return withServer(order, load, async (place) => {
    const { open } = await adapterOf(order.peer);
    const engine = await open(place, { ...PLAIN_WORK, ...own });
    try {
      return await work(engine);
    } finally {
      await engine.close();
    }
  });
}

export async function withServer<T>(
  { peer, tuned, setting }: PeerOrder,
  load: Place["load"],
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const { serve } = await adapterOf(peer);
  const place = { ...setting, tuned, load };
  const served = await serve?.(place);
  try {
    return await work({ ...place, server: served?.server ?? null });
  } finally {
    await served?.close();
  }
}
