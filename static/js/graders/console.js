// The console to try a grader: scrolls to the answer when it arrives, and announces it to screen readers.
document.addEventListener("htmx:afterSettle", (event) => {
  const answers = document.getElementById("answers");
  if (event.detail.target?.id !== "console" || !answers?.querySelector("section")) return;
  answers.focus({ preventScroll: true });
  const { top } = answers.getBoundingClientRect();
  if (top < 0 || top > window.innerHeight / 2) answers.scrollIntoView({ block: "start" });
});
