//! MCP messages over the standard streams: one JSON object a line.
//!
//! The protocol library's own transport ends at a notification before the first request, leaves callers without an
//! answer to a line that is too long, and has no way to end between two messages; hence this one.

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta, ProtocolVersion, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, watch};

use crate::lines::{Line, Lines};

/// Longest request, in bytes of its line: a 20 MB attachment in base64 fits.
pub const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// Answers that wait for a slow reader, in bytes; above that no further request is read.
const MAX_UNSENT_BYTES: usize = 64 * 1024 * 1024;

/// Requests that wait for their answers, in bytes; above that no further one is read.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// The end of a session, asked for or come by itself: what is in flight is still answered, nothing new is read. When
/// nobody can read the answers any more, what is in flight is given up as well.
#[derive(Debug, Clone, Default)]
pub struct Ending(Arc<watch::Sender<Stage>>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Open,
    Ended,
    GivenUp,
}

impl Ending {
    /// Asks.
    pub fn end(&self) {
        self.reach(Stage::Ended);
    }

    /// Waits until someone asks, or the input is at its end.
    pub async fn ended(&self) {
        self.reached(Stage::Ended).await;
    }

    /// Says that nobody can read answers any more.
    pub fn give_up(&self) {
        self.reach(Stage::GivenUp);
    }

    /// Waits until nobody can read answers any more.
    pub async fn given_up(&self) {
        self.reached(Stage::GivenUp).await;
    }

    fn reach(&self, stage: Stage) {
        self.0.send_modify(|reached| *reached = stage.max(*reached));
    }

    async fn reached(&self, stage: Stage) {
        let waited = self.0.subscribe().wait_for(|reached| *reached >= stage).await.is_ok();
        debug_assert!(waited, "the sender lives as long as self");
    }
}

/// A transport over a pair of streams.
pub struct Stdio<R, W> {
    lines: Lines<R>,
    output: Arc<Output<W>>,
    waiting: Waiting,
    begun: bool,
}

struct Output<W> {
    writer: Mutex<W>,
    unsent: watch::Sender<usize>,
    ending: Ending,
}

impl<R, W> Stdio<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Makes a transport that ends when `input` does or when `ending` says so, once all that was received is answered;
    /// and at once when `output` no longer takes anything.
    pub fn new(input: R, output: W, ending: Ending) -> Stdio<R, W> {
        let output = Output { writer: Mutex::new(output), unsent: watch::Sender::new(0), ending };
        Stdio {
            lines: Lines::new(input, MAX_REQUEST_BYTES),
            output: Arc::new(output),
            waiting: Waiting::default(),
            begun: false,
        }
    }

    async fn next_line(&mut self) -> Option<Line<'_>> {
        let mut unsent = self.output.unsent.subscribe();
        let line = tokio::select! {
            biased;
            () = self.output.ending.ended() => None,
            line = async {
                self.waiting.room().await;
                unsent.wait_for(|bytes| *bytes < MAX_UNSENT_BYTES).await.ok()?;
                // An error of the stream is the end of it.
                self.lines.next().await.ok()?
            } => line,
        };
        if line.is_none() {
            self.output.ending.end();
        }
        line
    }

    /// Waits until all that was received is answered and the answers are written, or nobody can read them any more: the
    /// protocol library waits only seconds for what is in flight when it hears of the end.
    async fn all_answered(&mut self) {
        let mut unsent = self.output.unsent.subscribe();
        tokio::select! {
            biased;
            () = self.output.ending.given_up() => {}
            _ = async {
                self.waiting.none().await;
                unsent.wait_for(|bytes| *bytes == 0).await
            } => {}
        }
    }
}

impl<R, W> Transport<RoleServer> for Stdio<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, mut message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.waiting.note_sent(&message);
        say_what_is_missing(&mut message);
        // Counted from now on, not from when somebody polls the future: it is no longer among the requests that wait.
        let unsent = serde_json::to_vec(&message).map(|line| Unsent::new(self.output.clone(), line));
        async move { unsent?.write().await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(line) = self.next_line().await else {
                // Whoever drops this future and asks again comes here again: what has ended stays so.
                self.all_answered().await;
                return None;
            };
            let bytes = line.bytes().len();
            match read(line) {
                Read::Message(message) => {
                    self.begun |= begins(&message);
                    self.waiting.note_received(&message, bytes);
                    // Before that the protocol library takes anything but a request for the end of the session.
                    if self.begun || matches!(*message, ClientJsonRpcMessage::Request(_)) {
                        return Some(*message);
                    }
                }
                Read::Refused(error, id) => {
                    // Not awaited: this future may be dropped at any time, and the refusal must not be lost.
                    tokio::spawn(self.send(ServerJsonRpcMessage::error(error, id)));
                }
                Read::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.writer.lock().await.shutdown().await
    }
}

/// Makes a sentence of a refused method's name, which is all that the protocol library says.
fn say_what_is_missing(message: &mut ServerJsonRpcMessage) {
    if let ServerJsonRpcMessage::Error(refusal) = message
        && refusal.error.code == ErrorCode::METHOD_NOT_FOUND
    {
        refusal.error.message = format!("there is no method `{}`", refusal.error.message).into();
    }
}

/// A line on its way out: in the count of what is not sent yet for as long as this lives.
struct Unsent<W> {
    output: Arc<Output<W>>,
    line: Vec<u8>,
}

impl<W> Unsent<W> {
    fn new(output: Arc<Output<W>>, mut line: Vec<u8>) -> Unsent<W> {
        line.push(b'\n');
        output.unsent.send_modify(|unsent| *unsent += line.len());
        Unsent { output, line }
    }
}

impl<W: AsyncWrite + Unpin> Unsent<W> {
    async fn write(self) -> io::Result<()> {
        let mut writer = self.output.writer.lock().await;
        let written = async {
            writer.write_all(&self.line).await?;
            writer.flush().await
        };
        let written = written.await;
        if written.is_err() {
            self.output.ending.give_up();
        }
        written
    }
}

impl<W> Drop for Unsent<W> {
    fn drop(&mut self) {
        self.output.unsent.send_modify(|unsent| *unsent -= self.line.len());
    }
}

/// The requests that wait for their answers, with the lengths of their lines.
#[derive(Default)]
struct Waiting {
    requests: HashMap<RequestId, usize>,
    bytes: usize,
}

impl Waiting {
    /// Waits for ever when there is no room: whoever sends an answer drops this future and asks again.
    async fn room(&self) {
        if self.bytes >= MAX_WAITING_BYTES {
            pending().await
        }
    }

    /// Waits for ever when there are any, like [`Waiting::room`].
    async fn none(&self) {
        if !self.requests.is_empty() {
            pending().await
        }
    }

    fn note_received(&mut self, message: &ClientJsonRpcMessage, bytes: usize) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                self.forget(&request.id);
                self.requests.insert(request.id.clone(), bytes);
                self.bytes += bytes;
            }
            ClientJsonRpcMessage::Notification(notice) => {
                // What is cancelled gets no answer.
                if let ClientNotification::CancelledNotification(cancelled) = &notice.notification {
                    cancelled.params.request_id.iter().for_each(|id| self.forget(id));
                }
            }
            _ => {}
        }
    }

    fn note_sent(&mut self, message: &ServerJsonRpcMessage) {
        match message {
            ServerJsonRpcMessage::Response(response) => self.forget(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.iter().for_each(|id| self.forget(id)),
            _ => {}
        }
    }

    fn forget(&mut self, id: &RequestId) {
        self.bytes -= self.requests.remove(id).unwrap_or_default();
    }
}

enum Read {
    Message(Box<ClientJsonRpcMessage>),
    Refused(ErrorData, Option<RequestId>),
    Nothing,
}

fn read(line: Line<'_>) -> Read {
    let text = match line {
        Line::Whole(text) => text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text),
        Line::TooLong(ends) => {
            let problem = format!("a request may have at most {MAX_REQUEST_BYTES} bytes");
            return Read::Refused(ErrorData::invalid_request(problem, None), id_in(ends));
        }
    };
    // A list of the right values would be taken for an object.
    let is_object = text.trim_ascii_start().starts_with(b"{");
    if let (true, Ok(message)) = (is_object, serde_json::from_slice(text)) {
        return Read::Message(Box::new(message));
    }
    // What is no JSON at all stays without an answer: two programs that answer each other's garbage never stop.
    let refused = |id| Read::Refused(ErrorData::invalid_request("this is not a message of the protocol", None), id);
    match serde_json::from_slice(text) {
        Ok(Envelope { id: Some(Id::Usable(id)) }) if is_object => refused(Some(id)),
        Ok(_) => refused(None),
        Err(_) if serde_json::from_slice::<IgnoredAny>(text).is_ok() => refused(None),
        Err(_) => Read::Nothing,
    }
}

#[derive(Deserialize)]
struct Envelope {
    id: Option<Id>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Usable(RequestId),
    Other(IgnoredAny),
}

/// Finds the request's id when it stands before or after everything long in it.
fn id_in(ends: &[u8]) -> Option<RequestId> {
    const KEY: &[u8] = b"\"id\"";
    // A quote inside a JSON string has a backslash before it, so what follows `{` or `,` is no part of a string.
    let is_key =
        |at: usize| ends[at..].starts_with(KEY) && matches!(ends[..at].trim_ascii_end().last(), Some(b'{' | b','));
    let value_at = |at: usize| -> Option<(RequestId, bool)> {
        let rest = ends[at + KEY.len()..].trim_ascii_start().strip_prefix(b":")?;
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<RequestId>();
        let id = values.next()?.ok()?;
        Some((id, rest[values.byte_offset()..].trim_ascii() == b"}"))
    };
    let last = (0..ends.len()).rev().find(|at| is_key(*at)).and_then(value_at);
    if let Some((id, true)) = last {
        return Some(id);
    }
    let nested = ends.iter().skip(1).position(|byte| matches!(byte, b'{' | b'[')).map_or(ends.len(), |at| at + 1);
    (0..nested).find(|at| is_key(*at)).and_then(value_at).map(|(id, _)| id)
}

/// Tells whether the protocol library begins a session with `message`: a handshake, or a call that needs none.
fn begins(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(message) = message else {
        return false;
    };
    match &message.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let known =
                meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
            known && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        }
    }
}

/// A stream to read from.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;

/// A stream to write to.
pub type Out = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens the standard streams the fastest way that their kind allows: pipes and sockets, which is what clients use,
/// are waited for by the system, anything else by a thread.
pub fn standard_streams() -> (Input, Out) {
    let (input, output) = rmcp::transport::stdio_pipes();
    #[cfg(unix)]
    return (
        socket(io::stdin()).map_or(Box::new(input), |input| Box::new(input)),
        socket(io::stdout()).map_or(Box::new(output), |output| Box::new(output)),
    );
    #[cfg(not(unix))]
    (Box::new(input), Box::new(output))
}

#[cfg(unix)]
fn socket(stream: impl std::os::fd::AsFd) -> Option<tokio::net::UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(stream.as_fd().try_clone_to_owned().ok()?);
    // Fails for whatever is not such a socket.
    stream.local_addr().ok()?;
    stream.set_nonblocking(true).ok()?;
    tokio::net::UnixStream::from_std(stream).ok()
}

/// Gives the session up when, after the end of input, nobody can read standard output any more either.
///
/// Where the system does not tell, as for files, that shows when something is written.
pub async fn give_up_when_unread(ending: Ending) {
    ending.ended().await;
    #[cfg(unix)]
    if unread(io::stdout()).await.is_ok() {
        ending.give_up();
    }
}

/// Waits until nobody has the other end of `output`.
#[cfg(unix)]
async fn unread(output: impl std::os::fd::AsFd) -> io::Result<()> {
    use tokio::io::{Interest, unix::AsyncFd};
    #[expect(deprecated, reason = "its successor is unsafe; a descriptor of our own is still open when it is dropped")]
    let output = AsyncFd::with_interest(output.as_fd().try_clone_to_owned()?, Interest::WRITABLE)?;
    loop {
        let mut state = output.writable().await?;
        if state.ready().is_write_closed() {
            return Ok(());
        }
        state.clear_ready();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::time::Duration;

    use rmcp::model::{CustomRequest, CustomResult};
    use rmcp::service::RequestContext;
    use rmcp::{ServerHandler, ServiceExt};
    use tokio::io::{AsyncBufReadExt, BufReader};
    use tokio::time::{Instant, sleep, timeout};

    use super::*;

    const HELLO: &str = concat!(
        r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        "\n",
    );

    /// Answers whatever it is asked, late.
    struct Slow;

    const SLOW: Duration = Duration::from_secs(40);

    impl ServerHandler for Slow {
        async fn on_custom_request(
            &self,
            _: CustomRequest,
            _: RequestContext<RoleServer>,
        ) -> Result<CustomResult, ErrorData> {
            sleep(SLOW).await;
            Ok(CustomResult::new(serde_json::json!({})))
        }
    }

    fn id_of(line: &str) -> Option<String> {
        id_in(line.as_bytes()).map(|id| id.to_string())
    }

    #[test]
    fn the_id_of_a_line_that_is_too_long_is_found_at_either_end() {
        assert_eq!(id_of(r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"yyyy"#).as_deref(), Some("7"));
        assert_eq!(id_of(r#"{"method":"x","params":{"a":"yyyy"},"jsonrpc":"2.0","id":"b"}"#).as_deref(), Some("b"));
        assert_eq!(id_of(r#"{"jsonrpc": "2.0", "id" : 77, "params": {"a": "yy"#).as_deref(), Some("77"));
        assert_eq!(id_of(r#"{"params": {"a": "yy"}, "id": 8 }"#).as_deref(), Some("8"));
    }

    #[test]
    fn an_id_inside_the_parameters_is_not_the_requests() {
        assert_eq!(id_of(r#"{"method":"x","params":{"id":7,"a":"yyyy"},"jsonrpc":"2.0"}"#), None);
        assert_eq!(id_of(r#"{"method":"x","params":{"a":",\"id\":7}"#), None);
        assert_eq!(id_of(r#"{"method":"x","params":{"a":"yy","id":7}}"#), None);
    }

    #[test]
    fn a_list_is_refused_without_an_id_whatever_it_holds() {
        for list in ["[]", "[1]", r#"["a"]"#, r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, r#"["2.0",1,{}]"#] {
            assert!(matches!(read(Line::Whole(list.as_bytes())), Read::Refused(_, None)), "{list}");
        }
        let wrong = br#"{"jsonrpc":"2.0","id":1}"#;
        assert!(matches!(read(Line::Whole(wrong)), Read::Refused(_, Some(RequestId::Number(1)))));
        assert!(matches!(read(Line::Whole(b"[1")), Read::Nothing));
    }

    #[tokio::test]
    async fn notifications_before_the_first_request_are_dropped_and_later_ones_are_not() {
        let notice = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let input = format!("{notice}\n{HELLO}{notice}\n");
        let mut stdio = Stdio::new(Cursor::new(input), Vec::new(), Ending::default());
        assert!(matches!(stdio.receive().await, Some(ClientJsonRpcMessage::Request(_))));
        assert!(matches!(stdio.receive().await, Some(ClientJsonRpcMessage::Notification(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_received_before_the_end_of_input_is_answered_however_long_it_takes() {
        const REQUESTS: usize = 20;
        let request = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"slow"}}"#) + "\n";
        let input: String = std::iter::once(HELLO.to_owned()).chain((0..REQUESTS).map(request)).collect();
        // Less than an answer fits: all but the first wait for the reader.
        let (output, answers) = tokio::io::duplex(16);
        let session = Slow.serve(Stdio::new(Cursor::new(input), output, Ending::default()));
        let serving = tokio::spawn(async { session.await.unwrap().waiting().await.unwrap() });
        let mut answers = BufReader::new(answers).lines();
        let mut answered = 0;
        while answers.next_line().await.unwrap().is_some() {
            answered += 1;
            sleep(SLOW).await;
        }
        assert_eq!(answered, 1 + REQUESTS);
        serving.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_input_is_held_back_until_the_answer_is_written_and_no_longer() {
        let (output, mut answers) = tokio::io::duplex(16);
        let mut stdio = Stdio::new(HELLO.as_bytes(), output, Ending::default());
        assert!(stdio.receive().await.is_some());
        assert!(timeout(SLOW, stdio.receive()).await.is_err(), "the request waits for its answer");
        let answer = ServerJsonRpcMessage::error(
            ErrorData::invalid_request("no", None),
            Some(RequestId::String("hello".into())),
        );
        let sending = stdio.send(answer);
        assert!(timeout(SLOW, stdio.receive()).await.is_err(), "nobody polls the future that sends it");
        let sending = tokio::spawn(sending);
        assert!(timeout(SLOW, stdio.receive()).await.is_err(), "nobody reads it");
        let reading = tokio::spawn(async move { tokio::io::copy(&mut answers, &mut tokio::io::sink()).await });
        assert!(stdio.receive().await.is_none());
        assert!(stdio.receive().await.is_none(), "it stays so");
        sending.await.unwrap().unwrap();
        reading.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_waits_for_a_client_that_is_gone() {
        let begin = Instant::now();
        let (output, answers) = tokio::io::duplex(16);
        let mut stdio = Stdio::new(HELLO.as_bytes(), output, Ending::default());
        assert!(stdio.receive().await.is_some());
        drop(answers);
        let notice = serde_json::json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        stdio.send(serde_json::from_value(notice).unwrap()).await.unwrap_err();
        assert!(stdio.receive().await.is_none());
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_pipe_and_a_socket_tell_when_nobody_reads_them_and_a_file_never_does() {
        let (reader, pipe) = io::pipe().unwrap();
        let (other, socket) = std::os::unix::net::UnixStream::pair().unwrap();
        other.shutdown(std::net::Shutdown::Write).unwrap();
        for read in [timeout(Duration::ZERO, unread(&pipe)).await, timeout(Duration::ZERO, unread(&socket)).await] {
            assert!(read.is_err(), "somebody may read it");
        }
        drop((reader, other));
        unread(&pipe).await.unwrap();
        unread(&socket).await.unwrap();
        unread(tempfile::tempfile().unwrap()).await.unwrap_err();
    }

    #[tokio::test]
    async fn requests_that_wait_are_bounded_by_their_bytes() {
        let request = |id: u32| {
            let text = "x".repeat(MAX_WAITING_BYTES / 3);
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"a":"{text}"}}}}"#) + "\n"
        };
        let input: String = (1..=4).map(request).collect();
        let mut stdio = Stdio::new(Cursor::new(input), Vec::new(), Ending::default());
        for _ in 1..=3 {
            assert!(stdio.receive().await.is_some());
        }
        assert!(timeout(Duration::ZERO, stdio.receive()).await.is_err(), "no room for the fourth");
        let answer = ServerJsonRpcMessage::error(ErrorData::invalid_request("no", None), Some(RequestId::Number(2)));
        stdio.send(answer).await.unwrap();
        assert!(stdio.receive().await.is_some());
    }

    #[tokio::test]
    async fn a_session_that_is_asked_to_end_reads_nothing_more() {
        let ending = Ending::default();
        let (input, _open) = tokio::io::duplex(64);
        let mut stdio = Stdio::new(input, Vec::new(), ending.clone());
        ending.end();
        assert!(stdio.receive().await.is_none());
    }
}
