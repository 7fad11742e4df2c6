public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Sends a request and returns its answer. Apps use ``URLSessionTransport``; tests use one that fails.
public protocol Transport: Sendable {
    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse)
}

/// Requests through a `URLSession`.
public struct URLSessionTransport: Transport {
    private let session: URLSession

    /// - Parameter session: one with a ``ServerTrust`` as its delegate pins the server.
    public init(session: URLSession = .shared) { self.session = session }

    public func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        let (data, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return (data, response)
    }
}
