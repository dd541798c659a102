// What the forms of the settings do beyond HTML; without it they work the same.
import { attach as matrix } from "./matrix.js";
import { attach as once } from "./once.js";

for (const attach of [once, matrix]) attach(document);
