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
    public init(session: URLSession = .shared) {
        #if canImport(FoundationNetworking)
        self.session = session.delegate == nil ? UnauthorizedEnd.session(like: session) : session
        #else
        self.session = session
        #endif
    }

    public func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        do {
            let (data, response) = try await session.data(for: request)
            guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
            return (data, response)
        } catch {
            #if canImport(FoundationNetworking)
            return (Data(), try UnauthorizedEnd.answer(to: request, endedBy: error))
            #else
            throw error
            #endif
        }
    }
}

#if canImport(FoundationNetworking)
/// Makes a 401 an answer. Foundation outside of Apple's systems asks for other credentials instead, and waits for ever where there are none;
/// a delegate can only cancel the request.
private final class UnauthorizedEnd: NSObject, URLSessionTaskDelegate {
    static func session(like session: URLSession) -> URLSession {
        URLSession(configuration: session.configuration, delegate: UnauthorizedEnd(), delegateQueue: nil)
    }

    /// Nothing but the delegate and the caller's own task cancels a request.
    static func answer(to request: URLRequest, endedBy error: any Error) throws -> HTTPURLResponse {
        guard (error as? URLError)?.code == .cancelled, !Task.isCancelled, let url = request.url,
            let answer = HTTPURLResponse(url: url, statusCode: 401, httpVersion: nil, headerFields: nil)
        else { throw error }
        return answer
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.cancelAuthenticationChallenge, nil)
    }
}
#endif
