// Heart: how a thread that beats in a PostgreSQL store is started.

import { extname } from "node:path";
import type { Heart, HeartOptions } from "../core/provider/runtimes.ts";
import type { HeartThreadData, Hearts } from "../heart/hearts.ts";
import type { Connecting } from "./store.ts";

/** What the thread needs to reach the store. */
export interface StoreAddress extends Connecting {
  /** As it stands in statements. */
  readonly schema: string;
}

/** What the thread is given. */
export type ThreadData = StoreAddress & HeartThreadData;

// The sources run as they are (.ts), the package as built (.js); the thread's file is beside this one in both.
const THREAD = new URL(`./heart-thread${extname(import.meta.url)}`, import.meta.url);

export function startHeart(hearts: Hearts, options: HeartOptions, address: StoreAddress): Heart {
  return hearts.start(THREAD, options, address);
}

/** Whether a thread can be given it: functions, such as one that fetches a password, cannot be. */
export function isCloneable(config: object): boolean {
  try {
    structuredClone(config);
    return true;
  } catch {
    return false;
  }
}
