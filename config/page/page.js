// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What the page adds to viser.

// The buttons that copy a command; and how many pictures the browser draws, where they are few:
// a robot that seems slow may be simulated in time.
(() => {
  addEventListener('click', event => {
    const button = event.target.closest('.vms-shell button');
    if (!button) return;
    navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = 'copied';
  });
  let pictures = 0, countStart = performance.now();
  const count = () => { pictures++; requestAnimationFrame(count) };
  requestAnimationFrame(count);
  setInterval(() => {
    const now = performance.now(), rate = 1e3 * pictures / (now - countStart);
    let note = document.getElementById('vms-pictures');
    if (!note) {
      note = document.body.appendChild(document.createElement('div'));
      note.id = 'vms-pictures';
    }
    note.hidden = document.hidden || rate >= 10;
    note.textContent = `this browser draws ${rate.toFixed(1)} pictures a second`;
    pictures = 0, countStart = now;
  }, 3000);
})();

// The connection of the scene has the token of the page; viser opens it without the query.
(() => {
  const token = new URLSearchParams(location.search).get('token');
  const postMessage = Worker.prototype.postMessage;
  if (token) Worker.prototype.postMessage = function (message, ...rest) {
    if (message && message.type == 'set_server')
      message = {...message, server: `${message.server}/?token=${token}`};
    return postMessage.call(this, message, ...rest);
  };
})();

// viser connects anew only while its page has the focus: a page beside others, or of a browser
// without a screen, would stay as it was when its server left. It is loaded anew once the
// server answers. Only where the panel shows the sign of a lost connection, not where it is
// folded up, and not while a page connects for the first time, which takes long on a slow
// machine.
(() => {
  const lostSelector = '[class*=Loader-root], [class*=player-pause][stroke*=red]';
  let connected = false, lostChecks = 0;
  setInterval(() => {
    if (document.querySelector('[class*=cloud-check]')) connected = true, lostChecks = 0;
    else if (connected && document.querySelector(lostSelector) && ++lostChecks > 3)
      fetch(location.href).then(r => r.ok && location.reload(), () => {});
  }, 5000);
})();
