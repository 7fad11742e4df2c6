import Foundation

/// A browser at the dashboard, with its cookies and the address that a proxy says of it.
struct Visitor {
    let server: TestServer
    /// nil without a proxy.
    var address: String?
    var host = "127.0.0.1"
    private(set) var cookies: [String: String] = [:]

    init(_ server: TestServer, at address: String? = nil) {
        self.server = server
        self.address = address
    }

    /// The text of a request, for those who send it in parts.
    func request(_ method: String, _ path: String, _ fields: [(String, String)] = []) -> String {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: \(host)"]
        if let address { lines.append("X-Forwarded-For: \(address)") }
        if !cookies.isEmpty {
            lines.append("Cookie: " + cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; "))
        }
        guard method == "POST" else { return lines.joined(separator: "\r\n") + "\r\n\r\n" }
        let body = fields.map { "\($0.0)=\(Self.encoded($0.1))" }.joined(separator: "&")
        lines += ["Content-Type: application/x-www-form-urlencoded", "Content-Length: \(body.utf8.count)"]
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    /// Posts a form with a file, as browsers do. Source: RFC 7578.
    mutating func upload(
        _ path: String, _ fields: [(String, String)], _ file: (name: String, text: String)
    ) throws -> HTTPAnswer {
        let mark = "----belfry"
        var body = ""
        for (name, value) in fields {
            body += "--\(mark)\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
        }
        body += "--\(mark)\r\nContent-Disposition: form-data; name=\"\(file.name)\"; filename=\"list\"\r\n\r\n"
        body += "\(file.text)\r\n--\(mark)--\r\n"
        let head = request("POST", path)
            .replacing("application/x-www-form-urlencoded", with: "multipart/form-data; boundary=\(mark)")
            .replacing("Content-Length: 0", with: "Content-Length: \(body.utf8.count)")
        return try take(head + body)
    }

    mutating func get(_ path: String) throws -> HTTPAnswer { try take(request("GET", path)) }

    mutating func post(_ path: String, _ fields: [(String, String)]) throws -> HTTPAnswer {
        try take(request("POST", path, fields))
    }

    /// The token of the forms on a page.
    mutating func token(on path: String) throws -> String { try Self.token(in: try get(path)) }

    static func token(in answer: HTTPAnswer) throws -> String {
        guard let token = answer.text.firstMatch(of: /name="csrf" value="([0-9a-f]{64})"/)?.1 else {
            throw BelfryProcess.Failure(description: "no form: \(answer.status) \(answer.text.prefix(500))")
        }
        return String(token)
    }

    /// The answer to a login with a password.
    mutating func login(_ email: String, _ password: String) throws -> HTTPAnswer {
        let token = try token(on: "/dashboard/login")
        return try post("/dashboard/login", [("csrf", token), ("email", email), ("password", password)])
    }

    /// Forgets the session, as a browser that was logged out.
    mutating func forgetSession() { cookies["belfry_session"] = nil }

    private mutating func take(_ request: String) throws -> HTTPAnswer {
        let connection = try server.connect()
        try connection.send(request)
        guard let answer = connection.answer() else {
            throw BelfryProcess.Failure(description: "no answer to \(request.prefix(200))")
        }
        for line in answer.cookies {
            let pair = (line.split(separator: ";").first ?? "").split(separator: "=", maxSplits: 1)
            if pair.count == 2 { cookies[String(pair[0])] = String(pair[1]) }
        }
        return answer
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}

extension TestServer {
    static let password = "correct horse battery"

    /// The first operator, whose browser is known from now on.
    func firstOperator(_ email: String = "ops@example.org") throws -> Visitor {
        let link = try waitUntil("the set-up link is logged") {
            process.logged.firstMatch(of: /token=([0-9a-f]{64})/)?.1
        }
        var visitor = Visitor(self)
        try accept(String(link), as: &visitor, email)
        return visitor
    }

    /// Follows the link of an invitation.
    func accept(_ link: String, as visitor: inout Visitor, _ email: String) throws {
        let token = try visitor.token(on: "/dashboard/setup?token=\(link)")
        let answer = try visitor.post(
            "/dashboard/setup",
            [
                ("csrf", token), ("token", link), ("email", email), ("password", Self.password),
                ("again", Self.password),
            ])
        guard answer.status == 303 else {
            throw BelfryProcess.Failure(
                description: "the link was not taken: \(answer.status) \(answer.text.suffix(2_000))")
        }
    }

    /// Sends requests whole but for their last byte, and then all last bytes; the statuses of the answers.
    func released(_ requests: [String]) throws -> [Int: Int] {
        let connections = try requests.map { text in
            let connection = try connect()
            try connection.send(String(text.dropLast()))
            return connection
        }
        for (connection, text) in zip(connections, requests) { try connection.send(String(text.suffix(1))) }
        return connections.reduce(into: [:]) { $0[$1.answer()?.status ?? 0, default: 0] += 1 }
    }
}
