const RELOADED = 'latchkey-reloaded'

// A module that was lost, as when a phone changes its network, leaves the page empty: it is asked for once more.
import('./main.js').then(
  () => sessionStorage.removeItem(RELOADED),
  (error) => {
    reportError(error)
    if (sessionStorage.getItem(RELOADED)) {
      document.body.classList.remove('loading')
      document.querySelector('#lost')?.removeAttribute('hidden')
      return
    }
    sessionStorage.setItem(RELOADED, 'yes')
    setTimeout(() => location.reload(), 1_000)
  },
)
