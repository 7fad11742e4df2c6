import HTTPTypes
package import Hummingbird
import Metrics
import NIOCore
import Synchronization

/// Limits each caller to a part of the resources that all callers share, so that none can exhaust them.
///
/// Limits are for this node. A refusal is a 429 when the caller's own part is used up, and a 503 when all of it is.
package final class ConcurrencyLimiter: Sendable {
    package typealias Limits = [Share: ShareLimit]

    private let limits: Limits
    private let counts = Mutex(ShareCounts())
    private let refusals = Dictionary(
        uniqueKeysWithValues: Share.allCases.map { share in
            (share, Counter(metric: .shareRefusals, [("share", share.rawValue)]))
        })

    package init(_ limits: Limits = ShareLimit.standard) {
        self.limits = limits.merging(ShareLimit.standard) { given, _ in given }
    }

    /// The amount of a share that is in use.
    package func used(of share: Share) -> Int { counts.withLock { $0.total(of: share) } }

    /// Takes an amount of a share, which is returned when the lease ends.
    func take(_ share: Share, _ amount: Int = 1, for holder: ShareHolder) throws(APIError) -> ShareLease {
        guard let limit = limits[share] else { return ShareLease {} }
        if let excess = counts.withLock({ $0.take(amount, of: share, for: holder, under: limit) }) {
            countRefusal(of: share)
            throw .excess(excess, of: share, limit)
        }
        return ShareLease { [weak self] in
            self?.counts.withLock { $0.giveBack(amount, of: share, for: holder, under: limit) }
        }
    }

    /// Counts a refusal, also where the share is held elsewhere.
    package func countRefusal(of share: Share) { refusals[share]?.increment() }

    /// Holds an amount of a share while `body` runs.
    package func holding<Value>(
        _ share: Share, _ amount: Int = 1, for holder: ShareHolder, _ body: () async throws -> Value
    ) async throws -> Value {
        let lease = try take(share, amount, for: holder)
        defer { lease.end() }
        return try await body()
    }

    /// Holds one of a share until the body of the answer has been written or the client has left.
    package func streaming(
        _ share: Share, for holder: ShareHolder, _ answer: () async throws -> Response
    ) async throws -> Response {
        let lease = try take(share, for: holder)
        var response = try await answer()
        let body = response.body
        response.body = ResponseBody(contentLength: body.contentLength) { writer in
            defer { lease.end() }
            try await body.write(writer)
        }
        return response
    }

    /// Bodies up to this size are not counted, since every connection may hold as much.
    static let smallBodyBytes = 64 << 10

    /// Holds as much as the request's body may take while `handler` reads and processes it. A large one is processed beside the event
    /// loops, whose other requests would wait for milliseconds.
    ///
    /// - Parameters:
    ///   - bytesMax: the assumed length of a body without one.
    ///   - holder: looked up for large bodies alone.
    package func uploading(
        _ request: Request, atMost bytesMax: Int, for holder: @autoclosure () async throws -> ShareHolder,
        _ handler: () async throws -> Response
    ) async throws -> Response {
        guard let bytes = request.bodyBytes(atMost: bytesMax), bytes > Self.smallBodyBytes else {
            return try await handler()
        }
        return try await holding(.uploads, (bytes + 1_023) / 1_024, for: try await holder()) {
            try await withTaskExecutorPreference(globalConcurrentExecutor) { try await handler() }
        }
    }

    /// Like `uploading`. A body of unknown length is read here, and is not counted while it is small: the Android SDK announces no length.
    ///
    /// - Parameter handler: gets the request to read the body from.
    package func receiving(
        _ request: Request, atMost bytesMax: Int, for holder: @autoclosure () async throws -> ShareHolder,
        _ handler: (Request) async throws -> Response
    ) async throws -> Response {
        guard request.isOfUnknownLength else {
            return try await uploading(request, atMost: bytesMax, for: try await holder()) {
                try await handler(request)
            }
        }
        try request.demandPlainBody()
        var (body, lease) = (ByteBuffer(), ShareLease?.none)
        defer { lease?.end() }
        var parts = request.body.makeAsyncIterator()
        // The handler refuses a longer one.
        while body.readableBytes <= bytesMax {
            let part: ByteBuffer?
            do { part = try await parts.next() } catch { throw BodyUnreadable(cause: error) }
            guard let part else { break }
            body.writeImmutableBuffer(part)
            guard lease == nil, body.readableBytes > Self.smallBodyBytes else { continue }
            lease = try take(.uploads, (bytesMax + 1_023) / 1_024, for: try await holder())
        }
        var received = request
        received.body = RequestBody(buffer: body)
        guard lease != nil else { return try await handler(received) }
        return try await withTaskExecutorPreference(globalConcurrentExecutor) { try await handler(received) }
    }
}

/// A part of a share, which is returned when it ends, or when it is released.
final class ShareLease: Sendable {
    private let giveBack: Mutex<(@Sendable () -> Void)?>

    init(giveBack: @escaping @Sendable () -> Void) { self.giveBack = Mutex(giveBack) }

    deinit { end() }

    func end() {
        let giveBack = giveBack.withLock { held in
            defer { held = nil }
            return held
        }
        giveBack?()
    }
}

extension ShareHolder {
    /// Devices count for their application and its tenant.
    static func of(_ platform: Platform, in store: any Store) async throws -> ShareHolder {
        try await of(platform.applicationKey, in: store)
    }

    static func of(_ application: Key<Application>, in store: any Store) async throws -> ShareHolder {
        ShareHolder(application: application, tenant: try await store.application(application)?.tenantKey)
    }

    init(_ key: AdminKey, _ application: Application? = nil) {
        self.init(
            application: application?.key, tenant: application?.tenantKey ?? key.bounds.tenant, key: key.key)
    }
}

extension Request {
    private var bodyLength: Int? { headers.value(.contentLength).flatMap { Int($0) } }

    /// Whether a body may come whose head does not state its length.
    fileprivate var isOfUnknownLength: Bool {
        bodyLength == nil && (![.get, .head, .delete].contains(method) || headers.contains(.transferEncoding))
    }

    /// The bytes that the body may take; nil without a body. A longer body is refused before it is read.
    fileprivate func bodyBytes(atMost limit: Int) -> Int? {
        isOfUnknownLength ? limit : bodyLength.map { min(max($0, 0), limit) }
    }
}

extension APIError {
    static func excess(
        _ excess: ShareCounts.Excess, of share: Share, _ limit: ShareLimit
    ) -> APIError {
        let (who, most) =
            switch excess {
            case .application: ("this application", limit.perCaller)
            case .key: ("this key", limit.perCaller)
            case .account: ("this account", limit.perCaller)
            case .tenant: ("this tenant", limit.tenant)
            case .total: ("all callers together", limit.total)
            }
        return APIError(
            excess == .total ? .serviceUnavailable : .tooManyRequests,
            "\(share.inWords) of \(who) reached the limit of \(most) (share.\(share.settingName)); "
                + "try again in \(share.retryAfter) s",
            headers: [.retryAfter: String(share.retryAfter)])
    }
}

extension Share {
    fileprivate var inWords: String {
        switch self {
        case .streams: "Open event streams"
        case .searches: "Searches at once"
        case .exports: "Whole lists being read"
        case .batches: "Batches being written"
        case .tests: "Tests at once"
        case .proofs: "Registrations that wait for a push service"
        case .verdicts: "Answers that wait for a verdict"
        case .fetches: "Devices that wait for messages"
        case .credentials: "Credentials being opened"
        case .uploads: "KiB of request bodies"
        }
    }

    package var settingName: String { self == .uploads ? "uploads.mib" : "\(rawValue).max" }

    /// Seconds: streams end seldom, everything else soon.
    fileprivate var retryAfter: Int { self == .streams ? 10 : 1 }
}
