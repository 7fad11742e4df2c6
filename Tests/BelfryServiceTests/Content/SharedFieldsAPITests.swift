import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryService

/// The fields of a message that each platform shows in its own way, through both APIs.
@Suite struct SharedFieldsAPITests {
    private static let message =
        #"{"title":"جبن 🧀","body":"b","image":"https://a.example/p.png","link":"shop://a","sound":"default","badge":"+1","data":{"story":17,"o":{"p":[null]}},"category":"c","channel":"ch","collapse_key":"k","thread":"t"}"#

    private static let content = Push.Content(
        body: "b",
        shared: SharedFields(
            [
                .title: "جبن 🧀", .image: "https://a.example/p.png", .link: "shop://a", .sound: "default",
                .category: "c", .channel: "ch", .collapseKey: "k", .thread: "t",
            ], data: ["story": .integer(17), "o": .object(["p": .array([.null])])]), badge: .add(1))

    private static let wrong = [
        (#"{"title":7}"#, "message.title has to be a string, it is a number"),
        (#"{"title":"t","image":"http://a.example/p"}"#, "message.image has to be an https URL"),
        (#"{"title":"t","link":"javascript:x"}"#, "message.link has to be an http or https URL"),
        (#"{"title":"t","data":"x"}"#, "message.data has to be an object, it is a string"),
        (#"{"title":"t","data":{"aps":{}}}"#, "message.data.aps is reserved"),
        (#"{"title":"t","collapse_key":" k"}"#, "message.collapse_key has to be up to 64 visible ASCII characters"),
        (#"{"title":"t","data":{"from":"x"}}"#, "message.data.from is reserved"),
        (#"{"title":"","body":"","data":{}}"#, "message "), (#"{"image":"https://a.example/p"}"#, "message "),
        (#"{"web":{"body":"b"}}"#, "message.web.title is missing"),
    ]

    @Test func `PCF's API takes every field, and shows it again`() async throws {
        let server = try await TestServer()
        let reply = try await server.push(#"{"message":\#(Self.message),"target":{"platform":"all"}}"#)
        #expect(reply.status == 200 && reply.headers[.warning] == nil, "\(reply)")
        #expect(try await server.store.allPushes().first?.content == Self.content)
        let scheduled = try await server.push(
            #"{"message":\#(Self.message),"target":{"platform":"all"},"scheduleIn":900}"#)
        let id = try #require(scheduled["schedule_id"]?.stringValue)
        let shown = try await server.send(.get, "/v1/schedules/\(id)", as: .sender)
        let message = try #require(shown["push"]?["message"])
        for (name, value) in Self.content.shared.json { #expect(message[name] == value, "\(name)") }
        let changed = try await server.send(
            .put, "/v1/schedules/\(id)", as: .sender, #"{"message":{"title":"New"}}"#)
        #expect(changed["push"]?["message"]?["title"] == .string("New"))
        #expect(changed["push"]?["message"]?["image"] == nil)
    }

    @Test func `PCF's answers are as ever without a field`() async throws {
        let server = try await TestServer()
        let reply = try await server.push(#"{"message":{"body":"b"},"target":{"platform":"all"},"scheduleIn":900}"#)
        let id = try #require(reply["schedule_id"]?.stringValue)
        let shown = try await server.send(.get, "/v1/schedules/\(id)", as: .sender)
        #expect(shown.text.contains(#""message":{"body":"b","custom":{}}"#), "\(shown.text)")
    }

    @Test(arguments: wrong)
    func `PCF's API refuses a wrong field by its name`(message: String, words: String) async throws {
        let server = try await TestServer()
        let reply = try await server.push(#"{"message":\#(message),"target":{"platform":"all"}}"#)
        #expect(reply.status == 400 && reply.text.contains(words), "\(reply)")
        #expect(try await server.store.allPushes().isEmpty)
    }

    @Test func `the admin API takes every field, and shows it again`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let pushes = "apps/\(resources.application.uuid.lowercased)/pushes"
        let reply = try await server.send(.post, pushes, #"{"message":\#(Self.message),"target":{"everyone":true}}"#)
        #expect(reply.status == 201, "\(reply)")
        let id = try #require(reply["receipt_id"]?.stringValue)
        let receipt = try await server.send(.get, "pushes/\(id)")
        #expect(receipt["message"] == (try JSONValue(json: Self.message.utf8)), "\(receipt)")
        #expect(try await server.store.allPushes().contains { $0.content == Self.content })
    }

    @Test(arguments: wrong.filter { !$0.0.contains("from") })
    func `the admin API refuses a wrong field by its name`(message: String, words: String) async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let reply = try await server.send(
            .post, "apps/\(resources.application.uuid.lowercased)/pushes",
            #"{"message":\#(message),"target":{"everyone":true}}"#)
        #expect(reply.status == 400 && reply.text.contains(words), "\(reply)")
    }
}
