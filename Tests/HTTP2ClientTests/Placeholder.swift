// HTTP2ClientTests
