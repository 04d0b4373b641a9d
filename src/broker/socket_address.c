#include "broker/socket_address.h"

#include <netinet/in.h>
#include <string.h>

bool qsb__socket_address_read(const struct sockaddr *name, struct qsb__address *out, unsigned *port)
{
	memset(out, 0, sizeof(*out));
	if (name->sa_family == AF_INET) {
		const struct sockaddr_in *inet = (const struct sockaddr_in *)(const void *)name;

		out->family = 4;
		memcpy(out->bytes, &inet->sin_addr, 4);
		*port = ntohs(inet->sin_port);
		return true;
	}
	if (name->sa_family == AF_INET6) {
		const struct sockaddr_in6 *inet = (const struct sockaddr_in6 *)(const void *)name;
		bool mapped = IN6_IS_ADDR_V4MAPPED(&inet->sin6_addr);

		out->family = mapped ? 4 : 6;
		memcpy(out->bytes, inet->sin6_addr.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
		*port = ntohs(inet->sin6_port);
		return true;
	}
	return false;
}

socklen_t qsb__socket_address_write(const struct qsb__address *address, unsigned port, struct sockaddr_storage *out)
{
	struct sockaddr_in *inet = (struct sockaddr_in *)out;
	struct sockaddr_in6 *inet6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (address->family == 4) {
		inet->sin_family = AF_INET;
		inet->sin_port = htons((uint16_t)port);
		memcpy(&inet->sin_addr, address->bytes, 4);
		return sizeof(*inet);
	}
	inet6->sin6_family = AF_INET6;
	inet6->sin6_port = htons((uint16_t)port);
	memcpy(&inet6->sin6_addr, address->bytes, 16);
	return sizeof(*inet6);
}
