// Sharing: does a pooler give each transaction of a connection another session of the server?
//   - PgBouncer in transaction mode does. There LISTEN has no effect, and a prepared statement may be missing.
//   - sharing.1: A pooler answers a new connection with a process id that it has generated. Without a pooler it
//       is the id of the session's process, and nothing more is asked.
//   - sharing.2: Behind a pooler, two connections are compared. In session mode a session belongs to one of
//       them until it disconnects. In transaction mode the second connection gets the session that the first
//       one has just used, or the first one then gets another session.

import type pg from "pg";

/** Other clients of the pooler may take a session in between, so that one round finds nothing. */
const ROUNDS = 3;

/** `pid`: the process id of the session that has answered the last statement of the client. */
export async function isShared(
  pool: pg.Pool,
  client: pg.ClientBase,
  pid: number,
): Promise<boolean> {
  if (!("processID" in client) || client.processID === pid) return false; // sharing.1
  if (pool.options.max < 2) return false;
  const other = await pool.connect();
  try {
    let found = false;
    for (let round = 0; round < ROUNDS && !found; round++) found = await haveShared(client, other);
    other.release();
    return found;
  } catch (error) {
    other.release(true);
    throw error;
  }
}

/** sharing.2. While `other` is in a transaction, the pooler may have no further session for `client`. */
async function haveShared(client: pg.ClientBase, other: pg.ClientBase): Promise<boolean> {
  const before = await processOf(client);
  await other.query("BEGIN");
  const isSame = (await processOf(other)) === before;
  const isMoved = !isSame && (await processOf(client)) !== before;
  await other.query("COMMIT");
  return isSame || isMoved;
}

async function processOf(client: pg.ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return rows[0]?.pid;
}
