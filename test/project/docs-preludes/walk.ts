// Declarations for blocks of docs/walks.md: the activity and the event of the order example.
// The package is imported whole, because a block may import the same names itself.

import * as library from "perdure";

const charge = library.activity("charge", async (cents: number) => `receipt for ${cents} cents`);
const approval = library.event<{ by: string }>("approval");
