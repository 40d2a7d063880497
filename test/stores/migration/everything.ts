// Everything that users can read from a store, to compare two stores.

import { Client, type Provider } from "../../../src/index.ts";

const AT_ONCE = 20;

export async function everythingIn(provider: Provider) {
  const client = new Client(provider);
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.list({}, { limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    ids.push(...page.items.map(({ id }) => id));
    ({ cursor } = page);
  } while (cursor !== undefined);
  const instances: unknown[] = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const part = ids.slice(at, at + AT_ONCE);
    instances.push(...(await Promise.all(part.map((id) => instanceOf(client, id)))));
  }
  const sessions = await provider.listSessions();
  const queues = (await client.queues()).flatMap(({ name, kinds, failures }) =>
    kinds.length + failures === 0 ? [] : [{ name, kinds, failures }],
  );
  return { instances, sessions, metrics: await client.metrics(), queues };
}

async function instanceOf(client: Client, id: string): Promise<unknown> {
  const handle = client.get(id);
  const info = await handle.describe();
  const executions = await handle.executions();
  const histories = await Promise.all(
    executions.map(({ execution }) => handle.history({ execution })),
  );
  const values = await client.provider.readKeyValues(id);
  const streams = await streamsOf(client.provider, id);
  return { info, executions, histories, values, unread: (await handle.unread()).items, streams };
}

async function streamsOf(provider: Provider, id: string): Promise<unknown> {
  const list = (await provider.listStreams(id)) ?? [];
  const limits = { from: 0, chunksMax: 1_000, bytesMax: 1_000_000, settled: true };
  return Promise.all(
    list.map(async (stream) => {
      const page = await provider.readStream({ id, name: stream.name, ...limits });
      return { ...stream, ...page };
    }),
  );
}
