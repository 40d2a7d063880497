// Next.js calls `register` when the server starts.

export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME === "nodejs") {
    const { perdure } = await import("./perdure.ts");
    await perdure.start();
  }
}
