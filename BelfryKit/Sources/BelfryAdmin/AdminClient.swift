public import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A back end's way to a Belfry server: sends pushes by the admin API, and follows what becomes of them.
public struct AdminClient: Sendable {
    private let server: URL
    private let key: String
    private let session: URLSession

    /// - Parameter key: an admin key, `bfy_…`; one of scope `sender` is enough.
    public init(server: URL, key: String, session: URLSession = .shared) {
        self.server = server
        self.key = key
        self.session = session
    }

    /// Sends a push, which is on the server's disk when this returns.
    ///
    /// - Parameter idempotencyKey: the same key and push are one push, however often it is sent; a new one where none is given, so that a
    ///   retry inside of this call sends nothing twice.
    public func push(
        _ push: PushRequest, for app: UUID, idempotencyKey: String = UUID().uuidString
    ) async throws(AdminError) -> UUID {
        guard let id = try await create(push, for: app, idempotencyKey).receipt_id, let uuid = UUID(uuidString: id)
        else { throw .unreadable("no receipt_id: a push for later is scheduled by `schedule`") }
        return uuid
    }

    /// Schedules a push that has a `sendAt`, and returns the id of its schedule. As `push`.
    public func schedule(
        _ push: PushRequest, for app: UUID, idempotencyKey: String = UUID().uuidString
    ) async throws(AdminError) -> String {
        guard let id = try await create(push, for: app, idempotencyKey).schedule_id else {
            throw .unreadable("no schedule_id: the push was sent at once")
        }
        return id
    }

    private func create(
        _ push: PushRequest, for app: UUID, _ idempotencyKey: String
    ) async throws(AdminError) -> Created {
        try await send(
            "POST", "apps/\(app.uuidString.lowercased())/pushes", push, ["Idempotency-Key": idempotencyKey])
    }

    /// The receipt of a push: its answers so far.
    public func receipt(_ id: UUID) async throws(AdminError) -> Receipt {
        try await send("GET", "pushes/\(id.uuidString.lowercased())", nil as PushRequest?)
    }

    /// The receipts of a push, each time that it has changed, until every device has its answer.
    ///
    /// - Parameter pause: between two looks.
    public func progress(of id: UUID, every pause: Duration = .milliseconds(500)) -> AsyncThrowingStream<
        Receipt, any Error
    > {
        AsyncThrowingStream { continuation in
            let follower = Task {
                var last: Receipt?
                do {
                    while !Task.isCancelled {
                        let receipt = try await receipt(id)
                        if receipt != last { continuation.yield(receipt) }
                        if receipt.isFinal { break }
                        last = receipt
                        try await Task.sleep(for: pause)
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in follower.cancel() }
        }
    }

    private struct Created: Decodable {
        let receipt_id: String?
        let schedule_id: String?
    }

    func send<Sent: Encodable, Answer: Decodable>(
        _ method: String, _ path: String, _ body: Sent?, _ fields: [String: String] = [:]
    ) async throws(AdminError) -> Answer {
        let (data, response) = try await exchange(try request(method, path, body, fields))
        guard 200..<300 ~= response.statusCode else {
            let message = (try? JSONDecoder().decode(Refusal.self, from: data))?.message ?? ""
            throw .refused(status: response.statusCode, reason: message)
        }
        do {
            return try JSONDecoder().decode(Answer.self, from: data)
        } catch {
            throw .unreadable("\(error)")
        }
    }

    private func request(
        _ method: String, _ path: String, _ body: (some Encodable)?, _ fields: [String: String]
    ) throws(AdminError) -> URLRequest {
        // Behind a path of the server's: a relative URL would replace its last part.
        let root = server.absoluteString
        guard let url = URL(string: root + (root.hasSuffix("/") ? "" : "/") + "admin/v1/\(path)") else {
            throw .unreadable(path)
        }
        var request = URLRequest(url: url, timeoutInterval: 30)
        request.httpMethod = method
        request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        do {
            // The same push is the same bytes, so that an idempotency key finds it again.
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            request.httpBody = try body.map { try encoder.encode($0) }
        } catch {
            throw .unreadable("\(error)")
        }
        return request
    }

    /// Twice more when the server cannot be reached: the idempotency key makes it safe.
    private func exchange(_ request: URLRequest) async throws(AdminError) -> (Data, HTTPURLResponse) {
        var last = ""
        for _ in 0..<3 {
            do {
                let (data, response) = try await session.data(for: request)
                if let response = response as? HTTPURLResponse { return (data, response) }
            } catch {
                last = "\(error)"
            }
        }
        throw .unreachable(last)
    }

    private struct Refusal: Decodable {
        let message: String
    }
}

/// Why a request of a back end failed.
public enum AdminError: Error, Sendable, Hashable {
    case unreachable(String)
    case refused(status: Int, reason: String)
    case unreadable(String)
}
