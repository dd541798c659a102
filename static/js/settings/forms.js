// Additions to the forms of the settings; the forms work without them.
import { attach as matrix } from "./matrix.js";
import { attach as once } from "./once.js";

for (const attach of [once, matrix]) attach(document);
