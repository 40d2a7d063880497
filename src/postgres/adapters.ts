// Adapters: transactions of other libraries, as something that runs a statement.
//   AD1. By shape alone: no library is imported, and none need be installed.
//   AD2. Only what a library documents for raw statements is called.

/**
 * A transaction of yours: whatever runs a statement in it, on one connection. A client of `pg` is one as it is; so is
 * anything with this method, such as `{ query: async (text, values) => ({ rows: await sql.unsafe(text, values) }) }`
 * for postgres.js. Values are texts or null; statements are written `$1`, `$2`, ….
 */
export interface PostgresTransaction {
  query(text: string, values: (string | null)[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** What is used of a transaction of Drizzle's. */
export interface DrizzleTransaction<Query> {
  execute(query: Query): PromiseLike<unknown>;
}

/** What is used of a transaction of Kysely's. */
export interface KyselyTransaction {
  withoutPlugins(): {
    executeQuery(query: {
      readonly sql: string;
      readonly parameters: readonly unknown[];
      readonly query: RawQuery;
      readonly queryId: { readonly queryId: string };
    }): Promise<{ readonly rows: readonly unknown[] }>;
  };
}
interface RawQuery {
  readonly kind: "RawNode";
  readonly sqlFragments: readonly string[];
  readonly parameters: readonly never[];
}

/** What is used of the client that Prisma hands to the function of an interactive transaction. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

/**
 * A transaction of Drizzle's, on any of its PostgreSQL drivers: `db.transaction((tx) => client.start(o, input,
 * { tx: fromDrizzle(tx, sql) }))`. `sql` is Drizzle's own tag, which binds the values.
 */
export function fromDrizzle<Query>(
  tx: DrizzleTransaction<Query>,
  sql: (strings: TemplateStringsArray, ...values: unknown[]) => Query,
): PostgresTransaction {
  return {
    async query(text, values) {
      const { strings, places } = cut(text);
      const template = Object.assign([...strings], { raw: strings });
      const query = sql(template, ...places.map((place) => values[place]));
      return { rows: rowsOf(await tx.execute(query)) };
    },
  };
}

/** A transaction of Kysely's: `db.transaction().execute((trx) => client.start(o, input, { tx: fromKysely(trx) }))`. */
export function fromKysely(trx: KyselyTransaction): PostgresTransaction {
  let count = 0;
  return {
    query(text, values) {
      const query = { kind: "RawNode", sqlFragments: [text], parameters: [] } as const;
      const queryId = { queryId: `perdure-${++count}` };
      // Plugins would give our columns other names.
      return trx.withoutPlugins().executeQuery({ sql: text, parameters: values, query, queryId });
    },
  };
}

/** An interactive transaction of Prisma's: `prisma.$transaction((tx) => client.start(o, input, { tx: fromPrisma(tx) }))`. */
export function fromPrisma(tx: PrismaTransaction): PostgresTransaction {
  return {
    async query(text, values) {
      return { rows: rowsOf(await tx.$queryRawUnsafe(text, ...values)) };
    },
  };
}

/** What a dialect takes for a pool, of one client that is somebody else's: nothing here opens or closes it. */
export interface LentPool<Client> {
  connect(): Promise<Client & { release(): void }>;
  end(): Promise<void>;
  readonly options: object;
}

/**
 * The transaction of `ctx.tx` for libraries that ask for a pool: `new Kysely({ dialect: new PostgresDialect({ pool:
 * asPool(tx) }) })`. Begin and end no transaction on it: it has one.
 */
export function asPool<Client extends object>(tx: Client): LentPool<Client> {
  const lent = new Proxy(tx, {
    get(target, property): unknown {
      if (property === "release") return (): void => undefined;
      return Reflect.get(target, property, target);
    },
  }) as Client & { release(): void }; // the proxy adds the one method
  return { connect: async () => lent, end: async () => undefined, options: {} };
}

/** A statement as a template: its texts between `$1`, `$2`, …, and which value stands in between. */
function cut(text: string): { readonly strings: readonly string[]; readonly places: number[] } {
  const parts = text.split(/\$(\d+)/);
  return {
    strings: parts.filter((_, index) => index % 2 === 0),
    places: parts.filter((_, index) => index % 2 === 1).map((place) => Number(place) - 1),
  };
}

/** Drivers answer with rows, or with an object that has them. */
function rowsOf(result: unknown): readonly unknown[] {
  if (Array.isArray(result)) return result;
  if (typeof result === "object" && result !== null && "rows" in result) {
    if (Array.isArray(result.rows)) return result.rows;
  }
  return [];
}
