// A process whose clock is wrong from its start: node skewed-process.ts URL SCHEMA SKEW_MS.
// It leases all available instances as BETA and prints the result.

const [url = "", schema = "", skew = "0"] = process.argv.slice(2);
const hostNow = Date.now.bind(Date);
Date.now = () => hostNow() + Number(skew);

const { PostgresProvider } = await import("../../../src/postgres/index.ts");
const { BETA, fresh, TARGETS } = await import("../../../src/testing/conformance/fixture.ts");

const store = await PostgresProvider.open(url, { schema, poolSize: 2 });
const request = { limit: 10, targets: TARGETS, allowSuspect: true, messagesMax: 10 };
const { instances } = await store.leaseInstances({ ...request, owner: BETA, token: fresh() });
const seen = {
  ownClock: Date.now(),
  storeClock: store.now(),
  taken: instances.map(({ id }) => id),
};
await store.close();
console.log(JSON.stringify(seen));
