//! Telling a client how far a long call has come.

use std::time::{Duration, Instant};

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tokio::sync::watch;
use vault_core::call::ProgressListener;

/// Least time between two notices of one call: nobody reads faster.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns what forwards a call's progress to the client, if it asked for that.
pub(crate) fn listener(context: &RequestContext<RoleServer>) -> ProgressListener {
    let Some(token) = context.meta.get_progress_token() else {
        return ProgressListener::default();
    };
    let (tell, heard) = watch::channel((0, 0));
    tokio::spawn(forward(context.peer.clone(), token, heard));
    ProgressListener::new(move |done, total| {
        // several threads tell, and a call may begin anew: what a client hears only grows
        tell.send_if_modified(|told| {
            let is_more = done > told.0;
            if is_more {
                *told = (done, total);
            }
            is_more
        });
    })
}

/// Ends with the call, which drops the other end.
async fn forward(client: Peer<RoleServer>, token: ProgressToken, mut heard: watch::Receiver<(usize, usize)>) {
    let begin = Instant::now();
    while heard.changed().await.is_ok() {
        tokio::time::sleep(PAUSE).await;
        // A call that is over by now needs no notice: its answer says more.
        if heard.has_changed().is_err() {
            return;
        }
        let (done, total) = *heard.borrow_and_update();
        let mut notice = ProgressNotificationParam::new(token.clone(), done as f64);
        notice.total = Some(total as f64);
        notice.message = Some(format!("{done} of {total} files, {} s", begin.elapsed().as_secs()));
        if client.notify_progress(notice).await.is_err() {
            return;
        }
    }
}
