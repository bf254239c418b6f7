/* SPDX-License-Identifier: Apache-2.0 */
/* The day of a map that is of many: the slider, and what it changes. */
const DAY_MS = 86400000;
const dayOf = (first, k) => new Date(Date.parse(first) + k * DAY_MS).toISOString().slice(0, 10);
const daysTo = (first, day) => Math.round((Date.parse(day) - Date.parse(first)) / DAY_MS);

function showDay(day) {
  const { first, last } = here.history;
  state.day = day < first ? first : day > last ? last : day;
  $("day").value = daysTo(first, state.day);
  $("day").setAttribute("aria-valuetext", state.day);
  $("date").textContent = state.day;
  turnTo(here, state.day);
  for (const tab of Object.keys(made)) delete made[tab];
  sorted = null;
  countRowsOfTabs();
  paint();
  if (state.tab) paintTable();
}

function startDays() {
  if (!here.history) return $("time").remove();
  const { first, last } = here.history;
  $("time").hidden = false;
  $("day").max = daysTo(first, last);
  $("day").oninput = () => showDay(dayOf(first, +$("day").value));
}
