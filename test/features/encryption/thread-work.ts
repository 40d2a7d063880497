// Activities for threads, and the codec for them. The test imports this module too.

import { encryptingCodec } from "../../../src/encryption/index.ts";
import { activity, NonRetryableError } from "../../../src/index.ts";

/** A fixed key, because each thread loads this file again and needs the same key. */
export const codec = encryptingCodec({
  keys: { shared: Buffer.alloc(32, "a key for tests").toString("base64") },
  current: "shared",
});

export const seal = activity("seal", async (secret: string, context) => {
  context.heartbeat({ details: `${secret} beat` });
  context.progress(`${secret} progress`);
  await context.client.get(context.info.instanceId).raise("said", `${secret} said`);
  return `${secret} out`;
});
export const refuse = activity("refuse", async (secret: string) => {
  throw new NonRetryableError(`${secret} refused`, { cause: new Error(`${secret} cause`) });
});
